"""`toolcrib approvals`: calls that wait for somebody to allow them."""
