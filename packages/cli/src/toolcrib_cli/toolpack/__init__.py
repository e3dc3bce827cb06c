"""`toolcrib toolpack`: tools from `*.tool.yaml` files, checked, shown, planned, run, begun and tested."""
