"""What decides what runs is this user's alone: nothing is served from a place that others can change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolcrib_mcp.audit import AUDIT_LINE, open_journal, open_key, read_public_keys
from toolcrib_mcp.config import GatewayConfig, load_config
from toolcrib_mcp.config import files as files_module
from toolcrib_mcp.errors import AuditUnusable, ConfigError
from toolcrib_mcp.pins.lock_file import read_lock
from toolcrib_mcp.policy import AnswerFile
from toolcrib_mcp.policy.reading import read_policy
from toolcrib_mcp.safeguards import open_safeguards
from toolcrib_store import StoreUnavailable, open_store

pytestmark = pytest.mark.fault("K8")

SERVER = '{"mcpServers": {"one": {"command": "true"}}}'


def of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be another user than the one whose files these are."""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)


async def opened(state: Path) -> None:
    async with open_safeguards(GatewayConfig(servers={}), state_dir=state):
        pass


async def refusal(state: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        await opened(state)
    return caught.value


@pytest.mark.parametrize("mode", [0o770, 0o702])
async def test_a_state_directory_that_others_may_write_to_is_not_served(tmp_path: Path, mode: int) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(mode)

    error = await refusal(state)

    assert "Others may write to it" in error.message
    assert f"`chmod go-w {state}`" in str(error.hint)
    state.chmod(0o700)
    await opened(state)


async def test_a_state_directory_of_another_user_is_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await opened(tmp_path / "state")
    of_another(monkeypatch)

    error = await refusal(tmp_path / "state")

    assert "It belongs to another user" in error.message
    assert f"`chown -R {os.geteuid()} " in str(error.hint)


async def test_a_state_directory_that_is_a_link_is_not_served(tmp_path: Path) -> None:
    await opened(tmp_path / "far")
    (tmp_path / "state").symlink_to(tmp_path / "far")

    assert "It is a link" in (await refusal(tmp_path / "state")).message


@pytest.mark.parametrize("name", ["artifacts.db", "artifacts.db-wal", "artifacts.db-shm"])
async def test_a_database_that_is_a_link_or_that_others_may_write_to_is_not_served(tmp_path: Path, name: str) -> None:
    state = tmp_path / "state"
    await opened(state)
    file = state / name
    file.touch()
    file.chmod(0o620)
    assert f"`chmod go-w {file}`" in str((await refusal(state)).hint)

    file.rename(tmp_path / "far")
    file.symlink_to(tmp_path / "far")
    assert "It is a link" in (await refusal(state)).message


@pytest.mark.parametrize("name", ["audit.key", "audit.pub"])
async def test_a_key_of_the_audit_that_is_a_link_or_that_others_may_write_to_is_not_used(
    tmp_path: Path, name: str
) -> None:
    open_key(tmp_path)
    file = tmp_path / name
    file.chmod(0o620)
    with pytest.raises(AuditUnusable, match="Others may write to it") as caught:
        open_key(tmp_path)
    assert f"`chmod go-w {file}`" in str(caught.value.hint)

    file.rename(tmp_path / "far")
    file.symlink_to(tmp_path / "far")
    with pytest.raises(AuditUnusable, match="It is a link"):
        open_key(tmp_path)


def test_public_keys_that_others_may_write_to_prove_nothing(tmp_path: Path) -> None:
    open_key(tmp_path)
    file = tmp_path / "audit.pub"
    file.chmod(0o664)

    with pytest.raises(AuditUnusable, match="Others may write to it"):
        read_public_keys(file, kept=True)
    assert read_public_keys(file)


def test_a_folder_of_the_audit_that_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    (tmp_path / "audit").chmod(0o770)
    with open_store(tmp_path / "artifacts.db", lines=[AUDIT_LINE]) as store, pytest.raises(AuditUnusable) as caught:
        open_journal(tmp_path, store=store)

    assert "`chmod go-w" in str(caught.value.hint)


def test_a_database_of_another_user_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(tmp_path / "a.db").close()
    of_another(monkeypatch)

    with pytest.raises(StoreUnavailable, match="belongs to another user") as caught:
        open_store(tmp_path / "a.db")
    assert "`chown" in str(caught.value.hint)


@pytest.mark.parametrize("mode", [0o660, 0o602])
def test_a_database_that_others_may_write_to_is_not_opened(tmp_path: Path, mode: int) -> None:
    open_store(tmp_path / "a.db").close()
    (tmp_path / "a.db").chmod(mode)

    with pytest.raises(StoreUnavailable, match="written by other users") as caught:
        open_store(tmp_path / "a.db")
    assert "`chmod go-w" in str(caught.value.hint)


def config_in(folder: Path) -> Path:
    file = folder / "mcp.json"
    file.write_text(SERVER, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["mcp.json", "toolcrib.toml"])
@pytest.mark.parametrize("mode", [0o666, 0o602, 0o620])
def test_a_configuration_that_others_may_write_to_is_not_used(
    tmp_path: Path, name: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_in(tmp_path)
    (tmp_path / "toolcrib.toml").write_text('mode = "proxy"\n', encoding="utf-8")
    (tmp_path / name).chmod(mode)
    monkeypatch.setattr(files_module, "_is_own_group", lambda _: False)

    with pytest.raises(ConfigError, match="can be written by other users") as caught:
        load_config(config)
    assert f"`chmod go-w {name}`" in str(caught.value.hint)


def test_a_group_of_this_user_alone_may_write_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path)
    config.chmod(0o664)
    monkeypatch.setattr(files_module, "_is_own_group", lambda _: True)

    assert "one" in load_config(config).servers


def test_the_group_of_root_is_no_group_of_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert not files_module._is_own_group(0)


def test_a_group_without_a_name_is_no_group_of_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 2**31 - 7)

    assert not files_module._is_own_group(2**31 - 7)


def test_a_configuration_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path)
    facts = os.stat_result((0o100644, 0, 0, 1, os.geteuid() + 1, 0, 0, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: facts)

    with pytest.raises(ConfigError, match="belongs to another user") as caught:
        load_config(config)
    assert "`chown -h" in str(caught.value.hint)


def test_a_link_of_another_user_to_a_configuration_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path)
    (tmp_path / "link.json").symlink_to(config)
    assert load_config(tmp_path / "link.json").servers
    facts = os.stat_result((0o120777, 0, 0, 1, os.geteuid() + 1, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "lstat", lambda _: facts)

    with pytest.raises(ConfigError, match="belongs to another user"):
        load_config(tmp_path / "link.json")


@pytest.mark.parametrize("read", [read_lock, read_policy], ids=["lock file", "policy"])
def test_what_says_which_calls_run_is_not_read_where_others_may_write_it(tmp_path: Path, read: object) -> None:
    file = tmp_path / "x.toml"
    file.write_text("", encoding="utf-8")
    file.chmod(0o666)

    assert callable(read)
    with pytest.raises(ConfigError, match="can be written by other users"):
        read(file)


def test_answers_of_another_user_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "answers.toml"
    file.write_text("version = 1\n", encoding="utf-8")
    file.chmod(0o600)
    of_another(monkeypatch)

    with pytest.raises(ConfigError, match="belongs to another user"):
        AnswerFile(file).current()
