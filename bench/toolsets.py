"""Toolsets: what sealing costs beside the bare algorithms, and whether other people's instances cost anything.

uv run python bench/toolsets.py [--quick] [--json]
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from ratios import Row, cpu_seconds, parser, repeats_for, report, times_cheaper
from sqlalchemy import insert

from toolcrib_runtime import create_tool, create_toolbox
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_store import open_store
from toolcrib_toolsets import (
    TOOLSETS_LINE,
    Credentials,
    MasterKey,
    Place,
    Sealer,
    ToolsetDefinition,
    ToolsetExecutionRequest,
    ToolsetKinds,
    ToolsetService,
    open_sealer,
)
from toolcrib_toolsets.rows import sealed_columns
from toolcrib_toolsets.tables import TOOLSETS

_MASTER = b"m" * 32
_TEXT = "a key of ordinary length".ljust(38, ".")
_SAY = ToolsetExecutionRequest(params={"text": "hello"})


class _Echo:
    definition = ToolsetDefinition(toolset_id="echo", name="Echo", description="Says it again.")

    def check_settings(self, settings: Any) -> Any:
        return settings

    def key_destinations(self, settings: Any) -> frozenset[str]:
        return frozenset(settings)

    def open(self, credentials: Credentials) -> Any:
        def say(text: str) -> str:
            return text

        return create_toolbox([create_tool(say, namespace=credentials.namespace, effects="none", blocking=False)])


def sealing() -> list[Row]:
    """Sealing and unsealing against the same HKDF and AES-GCM with nothing around them."""
    sealer, place, secret = (
        Sealer(MasterKey(_MASTER)),
        Place(row="r", owner="o", toolset_type="echo", settings="s"),
        Secret(_TEXT),
    )
    sealed = sealer.seal(secret, place)
    salt, nonce, bound = os.urandom(32), os.urandom(12), b"bound"

    def key() -> bytes:
        return HKDF(algorithm=SHA256(), length=32, salt=salt, info=b"bench").derive(_MASTER)

    closed = AESGCM(key()).encrypt(nonce, _TEXT.encode(), bound)
    sides: list[tuple[str, Callable[[], object], Callable[[], object]]] = [
        ("sealing", lambda: sealer.seal(secret, place), lambda: AESGCM(key()).encrypt(nonce, _TEXT.encode(), bound)),
        ("unsealing", lambda: sealer.unseal(sealed, place), lambda: AESGCM(key()).decrypt(nonce, closed, bound)),
    ]
    return [
        Row(
            id="T1",
            what=f"{name} a key",
            ours=1 / times_cheaper(ours, bare),
            unit="x bare HKDF and AES-GCM",
            note=f"{cpu_seconds(ours, repeat=500) / 500 * 1e6:.0f} µs",
        )
        for name, ours, bare in sides
    ]


def growth(folder: Path, sizes: tuple[int, ...]) -> list[Row]:
    """Listing and calling for one user with ten instances, while others have more and more."""
    seconds: dict[str, list[float]] = {"list": [], "execute": []}
    for size in sizes:
        with open_store(folder / f"{size}.db", lines=[TOOLSETS_LINE]) as store:
            sealer = open_sealer(store, MasterKey(_MASTER))
            service = ToolsetService(store, sealer, ToolsetKinds([_Echo()]))
            with asyncio.Runner() as runner:
                runner.run(service.set_app_toolset_enabled("echo", enabled=True, updated_by="bench"))
                ids = [
                    runner.run(service.create_instance("me", "echo", f"i-{number}", api_key=Secret(_TEXT))).id
                    for number in range(10)
                ]
                _fill(store, sealer, size - 10)
                for name, work in _works(runner, service, ids[0]).items():
                    work()
                    repeat = repeats_for(work, seconds=0.2)
                    seconds[name].append(min(cpu_seconds(work, repeat=repeat) / repeat for _ in range(5)))
                runner.run(service.aclose())
    return [
        Row(
            id="T2",
            what=f"{name} of one user, {sizes[-1]:,} instances against {sizes[0]}",
            ours=taken[-1] / taken[0],
            unit="x",
            target="<= 1.5",
            note=", ".join(f"{size:,}: {each * 1e3:.2f} ms" for size, each in zip(sizes, taken, strict=True)),
        )
        for name, taken in seconds.items()
    ]


def _works(runner: asyncio.Runner, service: ToolsetService, instance: str) -> dict[str, Callable[[], object]]:
    return {
        "list": lambda: runner.run(service.list_instances("me")),
        "execute": lambda: runner.run(service.execute_instance_tool("me", instance, "say", _SAY)),
    }


def _fill(store: Any, sealer: Sealer, number: int) -> None:
    sealed = sealed_columns(sealer.seal(Secret(_TEXT), Place(row="x", owner="y")))
    rows = [
        {
            "id": str(uuid.uuid4()),
            "user_id": f"user-{each // 10}",
            "toolset_type": "echo",
            "name": f"i-{each % 10}",
            "settings": "{}",
            "enabled": True,
            "created_at": 0.0,
            "updated_at": 0.0,
            **sealed,
        }
        for each in range(max(0, number))
    ]
    for start in range(0, len(rows), 10_000):
        with store.writing() as connection:
            connection.execute(insert(TOOLSETS), rows[start : start + 10_000])


def main() -> None:
    """Measure and print."""
    options = parser(__doc__).parse_args()
    sizes = (10, 1_000, 10_000) if options.quick else (10, 1_000, 100_000)
    with tempfile.TemporaryDirectory() as folder:
        report("toolsets", [*sealing(), *growth(Path(folder), sizes)], as_json=options.json)


if __name__ == "__main__":
    main()
