"""How each kind of execution becomes a command or a request: one module for each."""
