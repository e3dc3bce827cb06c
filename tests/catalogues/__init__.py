"""Whole catalogues of tools, real and invented, served by upstreams that replay them."""
