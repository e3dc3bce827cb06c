"""How a database comes to the newest form: one step after the other, each in `versions`."""
