"""The checks of this workspace: one module per script, each with a pure decision and a thin command around it."""
