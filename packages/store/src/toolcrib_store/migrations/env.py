"""What alembic runs: the steps of one line, on the connection that it is given."""

from __future__ import annotations

from alembic import context

# Outside a run of alembic there is no configuration, and nothing to do.
if hasattr(context, "config"):
    given = context.config.attributes
    context.configure(connection=given["connection"], version_table=given["version_table"])
    context.run_migrations()
