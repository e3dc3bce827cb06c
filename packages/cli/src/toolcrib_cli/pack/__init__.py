"""`toolcrib pack`: context packs on the command line."""
