"""Real MCP clients before pretended models: what each client sends to its model of what toolcrib answers."""
