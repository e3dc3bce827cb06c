"""What runs on the far side of a process border; nothing here is imported, only run."""
