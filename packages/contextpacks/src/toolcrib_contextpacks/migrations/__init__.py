"""The steps by which the tables of packs came to be."""
