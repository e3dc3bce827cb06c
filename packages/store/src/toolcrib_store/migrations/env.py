"""What alembic runs: the steps, on the connection that it is given."""

from __future__ import annotations

from alembic import context

from toolcrib_store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
