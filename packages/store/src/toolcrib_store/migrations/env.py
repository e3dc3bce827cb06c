"""What alembic runs: the steps, on the connection that it is given."""

from __future__ import annotations

from alembic import context

from toolcrib_store.tables import METADATA

# Outside a run of alembic there is no configuration, and nothing to do.
if hasattr(context, "config"):
    context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
    context.run_migrations()
