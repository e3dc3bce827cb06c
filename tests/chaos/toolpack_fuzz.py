"""Coverage-guided fuzzing of the loader of packs, on demand: `python -m tests.chaos.toolpack_fuzz --seconds 60`.

It needs `atheris`, which is no dependency of anything here: `pip install atheris`. The loader may answer with packs or
with violations; an exception ends the run with the input that caused it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

_START = b"""id: a.b
version: "1.0.0"
deterministic: true
timeoutMs: 1
limits: {maxInputBytes: 1, maxOutputBytes: 1}
inputSchema: {type: object, properties: {a: {$ref: '#/$defs/b'}}, $defs: {b: {type: string}}}
outputSchema: {}
execution: {kind: cli, cmd: [echo, "{{ input.a | default('x') }}"]}
caps: {subprocess: true}
"""


def main() -> None:
    """Fuzz for so many seconds, starting from a good pack."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    seconds = options.parse_args().seconds
    try:
        atheris: Any = importlib.import_module("atheris")
    except ModuleNotFoundError:
        raise SystemExit("atheris is not installed: pip install atheris") from None
    with atheris.instrument_imports(include=["toolcrib_toolpacks"]):
        loading = importlib.import_module("toolcrib_toolpacks.pack_reading")
        sources = importlib.import_module("toolcrib_toolpacks.source_files")
        paths = importlib.import_module("toolcrib_runtime.guards.paths")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "seed").write_bytes(_START)
        root = paths.Root.open(name)

        def one(data: bytes) -> None:
            files = sources.SourceFiles(root)
            source = sources.Source("a.tool.yaml", sources.read_yaml(data))
            loading.read_pack(source, root=Path(name), files=files)

        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", name], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
