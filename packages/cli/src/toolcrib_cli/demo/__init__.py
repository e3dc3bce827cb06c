"""A small catalogue that comes with the package, so that everything can be tried with no configuration at all."""
