"""What crosses all packages, from a file to a model and back."""
