"""With a lock file only what that has is served, to everybody the same; and the file is read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pin_cases import READ, SERVER, WRITE, approve_all, book_in, catalogued, names, opened, reasons

from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.errors import ConfigError, ToolChanged
from toolcrib_mcp.pins import (
    LOCK_FILE,
    PinDesk,
    PinLock,
    definition_digest,
    lock_path,
    open_pins,
    pin_mode,
    read_lock,
    write_lock,
)
from toolcrib_mcp.pins.lock_file import lock_text
from toolcrib_store import Store

pytestmark = pytest.mark.req("GW-8.1")

DRIFTED = {**READ, "description": "Reads and more."}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "pins.db") as store:
        yield store


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock file that has `read`."""
    path = tmp_path / LOCK_FILE
    write_lock(path, PinLock(servers={SERVER: {"read": definition_digest(READ)}}))
    return path


@pytest.mark.fault("F10")
def test_only_what_the_lock_file_has_is_served(store: Store, lock: Path) -> None:
    book = book_in(store, lock_file=lock)

    first, drifted = book.judge(SERVER, [READ, WRITE]), book.judge(SERVER, [DRIFTED, WRITE])
    other = book.judge("other", [READ])

    assert names(first) == ["read"]
    assert reasons(first) == {"write": "not-locked"}
    assert reasons(drifted) == {"read": "lock-changed", "write": "not-locked"}
    assert reasons(other) == {"read": "not-locked"}
    catalog = catalogued(drifted)
    with pytest.raises(ToolChanged, match=r"is not what the lock file says\..*toolcrib pins lock") as refused:
        catalog.hydrate(next(each for each in catalog.snapshot()._state.withheld if ":read" in each))
    assert refused.value.details["diff"] == [{"field": "description", "change": "changed", "before": "Reads a file."}]


def test_what_was_trusted_at_first_use_counts_for_nothing_once_there_is_a_lock_file(store: Store, lock: Path) -> None:
    book_in(store).judge(SERVER, [READ, WRITE])

    assert reasons(book_in(store, lock_file=lock).judge(SERVER, [READ, WRITE])) == {"write": "not-locked"}


def test_what_is_approved_is_served_when_the_lock_file_has_it_too(store: Store, lock: Path) -> None:
    book_in(store, lock_file=lock).judge(SERVER, [READ, WRITE])
    book_in(store, lock_file=lock).judge(SERVER, [DRIFTED, WRITE])

    approve_all(store)
    before = reasons(book_in(store, lock_file=lock).judge(SERVER, [DRIFTED, WRITE]))
    write_lock(lock, PinDesk(store).lock(frozenset({SERVER})))

    assert before == {"read": "lock-changed", "write": "not-locked"}
    assert names(book_in(store, lock_file=lock).judge(SERVER, [DRIFTED, WRITE])) == ["read", "write"]


def test_what_a_lock_file_kept_out_waits_for_approval_when_the_file_is_gone(store: Store, lock: Path) -> None:
    book_in(store, lock_file=lock).judge(SERVER, [READ, WRITE])

    assert reasons(book_in(store).judge(SERVER, [READ, WRITE])) == {"write": "unapproved"}


def test_the_servers_of_a_principal_are_not_in_the_lock_file_and_pinned_at_first_use(store: Store, lock: Path) -> None:
    ada = book_in(store, lock_file=lock).scoped("ada")

    assert names(ada.judge("exa", [WRITE])) == ["write"]
    assert reasons(ada.judge("exa", [{**WRITE, "title": "Other"}])) == {"write": "changed"}


def test_a_lock_file_is_the_same_bytes_for_the_same_pins_and_reads_back(tmp_path: Path) -> None:
    one = PinLock(servers={"b": {"y": "1" * 64, "x": "2" * 64}, "a": {}})
    other = PinLock(servers={"a": {}, "b": {"x": "2" * 64, "y": "1" * 64}})
    write_lock(tmp_path / LOCK_FILE, one)

    assert lock_text(one) == lock_text(other)
    assert read_lock(tmp_path / LOCK_FILE) == other
    assert [each.name for each in tmp_path.iterdir()] == [LOCK_FILE]
    assert json.loads(lock_text(one))["servers"]["b"]["x"] == f"sha256:{'2' * 64}"


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], ""),
        ({"version": 2, "servers": {}}, "/version"),
        ({"version": True, "servers": {}}, "/version"),
        ({"version": 1}, "/servers"),
        ({"version": 1, "servers": {}, "more": 1}, "/more"),
        ({"version": 1, "servers": {"a": []}}, "/servers/a"),
        ({"version": 1, "servers": {"a/b": {"t": "sha256:12"}}}, "/servers/a~1b/t"),
        ({"version": 1, "servers": {"a": {"t": f"sha256:{'A' * 64}"}}}, "/servers/a/t"),
        ({"version": 1, "servers": {"a": {"t": 5}}}, "/servers/a/t"),
    ],
)
def test_a_lock_file_that_is_not_understood_is_refused_with_the_place(
    tmp_path: Path, document: Any, place: str
) -> None:
    path = tmp_path / LOCK_FILE
    path.write_text(json.dumps(document), "utf-8")

    with pytest.raises(ConfigError, match="cannot be used") as refused:
        read_lock(path)
    assert refused.value.details["place"] == place


@pytest.mark.parametrize("text", ["", "{", '{"version": 1, "version": 1, "servers": {}}', '{"version": 1e999}'])
def test_a_lock_file_that_is_no_plain_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / LOCK_FILE
    path.write_text(text, "utf-8")

    with pytest.raises(ConfigError, match="cannot be used"):
        read_lock(path)


def test_a_lock_file_that_cannot_be_read_or_written_is_a_fault_of_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_lock(tmp_path / "none" / LOCK_FILE)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_lock(tmp_path / "none" / LOCK_FILE, PinLock(servers={}))
    (tmp_path / LOCK_FILE).mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_lock(tmp_path / LOCK_FILE, PinLock(servers={}))
    assert len(list(tmp_path.iterdir())) == 1


def config(path: Path | None, **settings: Any) -> GatewayConfig:
    return GatewayConfig(servers={}, settings=GatewaySettings(**settings), path=path)


def test_a_lock_file_beside_the_configuration_locks_unless_the_configuration_says_otherwise(
    tmp_path: Path, store: Store
) -> None:
    beside = tmp_path / "mcp.json"
    free = [pin_mode(config(None)), pin_mode(config(beside))]
    (tmp_path / LOCK_FILE).symlink_to(tmp_path / "nowhere")

    assert free == ["first-use", "first-use"]
    assert pin_mode(config(beside)) == "locked"
    assert pin_mode(config(beside, pins="off")) == "off"
    assert lock_path(config(beside)) == tmp_path / LOCK_FILE
    assert lock_path(config(None)) is None
    assert open_pins(config(beside, pins="off"), store) is None


def test_locked_without_a_lock_file_that_can_be_read_does_not_start(tmp_path: Path, store: Store, lock: Path) -> None:
    opened_book = open_pins(config(tmp_path / "mcp.json"), store)
    assert opened_book is not None
    assert names(opened_book.judge(SERVER, [READ, WRITE])) == ["read"]
    free = open_pins(config(tmp_path / "mcp.json", pins="first-use"), store)
    assert free is not None
    assert names(free.judge("other", [READ, WRITE])) == ["read", "write"]

    lock.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        open_pins(config(tmp_path / "mcp.json", pins="locked"), store)
    with pytest.raises(ConfigError, match="without a configuration file"):
        open_pins(config(None, pins="locked"), store)
