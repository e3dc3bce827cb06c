"""A tool from a `*.tool.yaml` file: loaded strictly, run in a process of its own, and called like any other.

It prints:
    text:word_count@1.0.0
    success: {"words":4,"characters":16,"lines":1,"sentences":1,"minutes":0.02}
    error: The arguments of `text:word_count` have a fault. `/wordsPerMinute` must be at least 50.
"""

from __future__ import annotations

import asyncio

from toolcrib_toolpacks import ToolpackLoader, open_toolbox
from toolcrib_toolpacks.examples import EXAMPLES


async def main() -> None:
    """Load one of the packs that come with the package, and call it."""
    packs = ToolpackLoader().load_file(EXAMPLES / "word_count.tool.yaml")
    # Without trust, a machine that cannot hold a pack to its capabilities refuses to run it.
    async with open_toolbox(packs, trust=True) as toolbox:
        print(toolbox.tools[0].id)
        text = "a crib for tools"
        for arguments in ({"text": text}, {"text": text, "wordsPerMinute": 1}):
            result = await toolbox.call("text:word_count", arguments)
            print(f"{result.outcome}: {result.error.message if result.error else result.text}")


if __name__ == "__main__":
    asyncio.run(main())
