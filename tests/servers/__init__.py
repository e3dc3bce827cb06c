"""Real servers, directly and through toolcrib."""
