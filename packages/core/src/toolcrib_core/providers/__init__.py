"""What the adapters of all providers share: losses of a conversion, calls read, results to write, names on the wire."""
