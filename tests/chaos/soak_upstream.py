"""A server of the soak: it writes its process id into a journal, and then is the hostile server it is told to be.

`python -I -S soak_upstream.py JOURNAL NAME [arguments of hostile_server.py]`
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Say that there is one more of us, and serve; the name is for whoever looks at the list of processes."""
    journal, _ = sys.argv.pop(1), sys.argv.pop(1)
    written = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(written, f"{os.getpid()}\n".encode())
    os.close(written)
    runpy.run_path(str(Path(__file__).with_name("hostile_server.py")), run_name="__main__")


if __name__ == "__main__":
    main()
