"""`toolcrib pins`: tools as they were when they were trusted, and what has changed since."""
