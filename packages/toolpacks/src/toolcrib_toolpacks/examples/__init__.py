"""Ten packs that are useful as they are, and show one kind or feature each; `EXAMPLES` is the folder they lie in."""

from __future__ import annotations

from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).parent
"""Give it to `ToolpackLoader().load_dir`."""
