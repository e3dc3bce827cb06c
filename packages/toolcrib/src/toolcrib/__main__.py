"""`python -m toolcrib` is the `toolcrib` command."""

from __future__ import annotations

from toolcrib_cli.app import main

if __name__ == "__main__":
    main()
