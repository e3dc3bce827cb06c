"""Which configuration and which state directory a command takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib_cli.config_choice import choose_config, current_directory
from toolcrib_cli.state_directory import state_of, state_root
from toolcrib_mcp import ConfigError


def _touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.req("GW-6.1")
def test_the_file_that_was_named_counts_before_all_others(tmp_path):
    _touch(tmp_path / "mcp.json")

    chosen = choose_config(Path("mine.json"), environ={"TOOLCRIB_CONFIG": "theirs.json"}, directory=tmp_path)

    assert chosen == Path("mine.json")


@pytest.mark.req("GW-6.1")
def test_the_variable_counts_before_the_files_of_the_directory(tmp_path):
    _touch(tmp_path / "mcp.json")

    chosen = choose_config(None, environ={"TOOLCRIB_CONFIG": "theirs.json"}, directory=tmp_path)

    assert chosen == Path("theirs.json")


@pytest.mark.req("GW-6.1")
@pytest.mark.parametrize("there", [("mcp.json", ".mcp.json"), (".mcp.json", ".vscode/mcp.json"), (".vscode/mcp.json",)])
def test_the_first_known_file_of_the_directory_is_taken(tmp_path, there):
    paths = [_touch(tmp_path / name) for name in there]

    assert choose_config(None, environ={"TOOLCRIB_CONFIG": ""}, directory=tmp_path) == paths[0]


@pytest.mark.req("GW-6.1")
def test_without_any_file_there_is_no_configuration(tmp_path):
    assert choose_config(None, environ={}, directory=tmp_path) is None


@pytest.mark.req("GW-6.1")
def test_a_file_of_settings_alone_is_an_error_that_names_what_was_looked_for(tmp_path):
    _touch(tmp_path / "toolcrib.toml")

    with pytest.raises(ConfigError) as caught:
        choose_config(None, environ={}, directory=tmp_path)

    assert "`toolcrib.toml` is here, but holds settings only" in caught.value.message
    assert "`mcp.json`, `.mcp.json`, `.vscode/mcp.json`" in caught.value.message
    assert "toolcrib init" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        (Path("named"), {"TOOLCRIB_STATE_DIR": "other"}, "named"),
        (None, {"TOOLCRIB_STATE_DIR": "other", "XDG_STATE_HOME": "/xdg"}, "other"),
        (None, {"XDG_STATE_HOME": "/xdg", "HOME": "/me"}, "/xdg/toolcrib"),
        (None, {"XDG_STATE_HOME": "relative", "HOME": "/me"}, "/me/.local/state/toolcrib"),
        (None, {"HOME": "/me"}, "/me/.local/state/toolcrib"),
    ],
)
def test_the_state_directory_is_the_named_one_else_that_of_the_environment(given, environ, expected):
    assert state_root(given, environ=environ) == Path(expected)


def test_without_home_the_user_s_own_is_asked_for(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path("/from-the-system"))

    assert state_root(None, environ={}) == Path("/from-the-system/.local/state/toolcrib")


def test_a_user_without_any_home_is_told_what_to_set(monkeypatch):
    def homeless():
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)

    with pytest.raises(ConfigError) as caught:
        state_root(None, environ={})

    assert caught.value.hint == "Set $TOOLCRIB_STATE_DIR."


def test_every_way_to_write_a_path_leads_to_the_same_state(tmp_path, monkeypatch):
    file = _touch(tmp_path / "project" / "mcp.json")
    (tmp_path / "link.json").symlink_to(file)
    monkeypatch.chdir(tmp_path / "project")

    states = {state_of(path, tmp_path) for path in (file, Path("mcp.json"), Path("../link.json"))}

    assert len(states) == 1


def test_two_files_of_one_name_have_states_of_their_own(tmp_path):
    assert state_of(tmp_path / "a" / "mcp.json", tmp_path) != state_of(tmp_path / "b" / "mcp.json", tmp_path)


@pytest.mark.parametrize(("name", "begin"), [("mcp.json", "mcp-"), ("…", "config-"), ("a b/../.mcp.json", "mcp-")])
def test_the_name_of_a_state_begins_with_that_of_its_file(tmp_path, name, begin):
    assert state_of(tmp_path / name, tmp_path).name.startswith(begin)


def test_a_directory_that_is_gone_is_told(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(ConfigError, match="no longer there"):
        current_directory()
