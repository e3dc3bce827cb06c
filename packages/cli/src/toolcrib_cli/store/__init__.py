"""`toolcrib store`: the database behind it all."""
