"""`toolcrib toolset` and `toolcrib token`: what people type, and what programs read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toolset_services import Service, web_service
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.toolset.opening import toolset_database, user_of
from toolcrib_core import ToolError
from toolcrib_mcp.errors import ConfigError
from toolcrib_toolsets import (
    InstanceNameExists,
    InstanceNotFound,
    InvalidApiKey,
    InvalidToolsetType,
    MasterKeyUnusable,
    WrongMasterKey,
)

pytestmark = [pytest.mark.req("TS-13"), pytest.mark.enable_socket]

EXA = "builtin-exa-web-search"
SECRET = "canary-key-of-the-command-line"
PAGES = {"results": [{"title": "One", "url": "https://one.example"}]}


class Desk:
    """A state directory of its own, at which commands are typed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed: list[str] = []

    def run(self, *arguments: str, text: str | None = None) -> Any:
        result = CliRunner().invoke(app, list(arguments), input=text)
        self.printed.append(result.output + str(result.exception))
        return result

    def fine(self, *arguments: str, text: str | None = None) -> str:
        result = self.run(*arguments, text=text)
        assert result.exit_code == 0, result.exception or result.output
        return str(result.stdout)

    def json(self, *arguments: str, text: str | None = None) -> Any:
        return json.loads(self.fine(*arguments, "--json", text=text))

    def refused(self, *arguments: str, text: str | None = None) -> ToolError:
        result = self.run(*arguments, text=text)
        assert isinstance(result.exception, ToolError), result.output
        return result.exception

    def search(self, name: str = "my-search", *more: str) -> Any:
        """Make an instance of the web search."""
        return self.json("toolset", "create", EXA, name, "--key-file", "-", *more, text=f"{SECRET}\n")


@pytest.fixture
def exa() -> Iterator[Service]:
    with web_service() as service:
        service.answer = PAGES
        yield service


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exa: Service) -> Desk:
    for name in ("TOOLCRIB_MASTER_KEY", "TOOLCRIB_MASTER_KEY_FILE", "TOOLCRIB_PRINCIPAL", "TOOLCRIB_TOOLSETS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLCRIB_EXA_URL", exa.url)
    monkeypatch.setenv("TOOLCRIB_TOOLSETS_ALLOW", "loopback")
    desk = Desk(tmp_path)
    desk.fine("toolset", "init-key")
    return desk


def test_a_toolset_is_made_switched_on_used_and_deleted(desk: Desk, exa: Service) -> None:
    made = desk.search()
    assert "off for everybody" not in desk.fine("toolset", "enable", EXA)
    assert [each["available"] for each in desk.json("toolset", "list")["toolsets"]] == [True]
    assert desk.json("toolset", "show", "my-search")["tools"] == ["answer", "contents", "find_similar", "search"]

    answer = desk.json("toolset", "run", "my-search", "search", "--args", '{"query": "cribs"}')

    assert answer == {"result": PAGES, "error": None}
    assert exa.asked[0].headers["x-api-key"] == SECRET
    desk.fine("toolset", "update", made["id"], "--off", "--name", "other")
    assert desk.refused("toolset", "run", "other", "search", "--args", "{}").code == "toolbox.instance-disabled"
    assert "deleted" in desk.fine("toolset", "delete", "other")
    assert "You have no toolsets" in desk.fine("toolset", "list")


def test_a_failed_call_says_why_and_ends_with_1(desk: Desk, exa: Service) -> None:
    desk.search()
    desk.fine("toolset", "enable", EXA)
    exa.status = 401

    result = desk.run("toolset", "run", "my-search", "search", "--args", '{"query": "x"}')

    assert result.exit_code == 1
    assert "refuses the key" in result.stderr


def test_without_a_master_key_only_what_needs_one_is_refused(desk: Desk) -> None:
    (desk.folder / "state" / "master.key").unlink()

    assert EXA in desk.fine("toolset", "types")
    assert desk.json("toolset", "list") == {"toolsets": []}
    refused = desk.refused("toolset", "create", EXA, "x", "--key-file", "-", text=SECRET)
    assert isinstance(refused, MasterKeyUnusable)
    assert "init-key" in str(refused.hint)


def test_wrong_input_gets_a_clear_error(desk: Desk) -> None:
    desk.search()
    (desk.folder / "wrong.json").write_text("[]", encoding="utf-8")

    assert isinstance(
        desk.refused("toolset", "create", EXA, "my-search", "--key-file", "-", text="k"), InstanceNameExists
    )
    assert isinstance(desk.refused("toolset", "create", "none", "x", "--key-file", "-", text="k"), InvalidToolsetType)
    assert isinstance(desk.refused("toolset", "create", EXA, "x", "--key-file", "-", text="a\nb"), InvalidApiKey)
    assert isinstance(desk.refused("toolset", "create", EXA, "x"), ConfigError)
    assert isinstance(desk.refused("toolset", "create", EXA, "x", "--key-file", "/nowhere/key"), ConfigError)
    assert isinstance(desk.refused("toolset", "show", "nope"), InstanceNotFound)
    assert isinstance(desk.refused("toolset", "show", "my-search", "--user", "eve"), InstanceNotFound)
    assert isinstance(desk.refused("toolset", "update", "my-search", "--clear-key", "--new-key"), ConfigError)
    wrong = str(desk.folder / "wrong.json")
    assert (
        "not a JSON object"
        in desk.refused("toolset", "import-openapi", wrong, "x", "--key-file", "-", text="k").message
    )
    assert isinstance(desk.refused("toolset", "enable", "none"), InvalidToolsetType)


def test_an_openapi_document_becomes_tools(desk: Desk, exa: Service) -> None:
    document = desk.folder / "tickets.yaml"
    document.write_text(
        "openapi: 3.1.0\npaths:\n  /tickets/{id}:\n    get: {operationId: readTicket, "
        "parameters: [{name: id, in: path, schema: {type: string}}]}\n",
        encoding="utf-8",
    )
    exa.answer = {"title": "T"}
    arguments = ("toolset", "import-openapi", str(document), "tickets", "--base-url", exa.url, "--key-file", "-")
    desk.fine(*arguments, text=SECRET)
    desk.fine("toolset", "enable", "http-api")

    answer = desk.json("toolset", "run", "tickets", "readTicket", "--args", '{"id": "7"}')

    assert answer["result"] == {"title": "T"}
    assert (exa.asked[0].path, exa.asked[0].headers["authorization"]) == ("/tickets/7", f"Bearer {SECRET}")


def test_the_key_is_changed_cleared_and_shown_by_nothing(desk: Desk, exa: Service) -> None:
    desk.search()
    desk.fine("toolset", "enable", EXA)
    (desk.folder / "key").write_text(f"{SECRET}-2\n", encoding="utf-8")
    desk.fine("toolset", "update", "my-search", "--key-file", str(desk.folder / "key"))
    desk.fine("toolset", "run", "my-search", "search", "--args", '{"query": "x"}')
    assert exa.asked[-1].headers["x-api-key"] == f"{SECRET}-2"
    desk.fine("toolset", "update", "my-search", "--clear-key")
    assert desk.json("toolset", "list")["toolsets"][0]["hasApiKey"] is False
    assert desk.refused("toolset", "run", "my-search", "search").code == "toolbox.instance-not-configured"

    assert not [each for each in desk.printed if SECRET in each]
    kept = b"".join(each.read_bytes() for each in (desk.folder / "state").rglob("*") if each.is_file())
    assert SECRET.encode() not in kept


def test_a_new_master_key_comes_in_by_rotation(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.search()
    desk.fine("toolset", "enable", EXA)
    new = desk.folder / "new.key"
    desk.fine("toolset", "init-key", "--file", str(new))

    assert desk.json("toolset", "rotate-key", str(new))["resealed"] == 1
    assert isinstance(desk.refused("toolset", "run", "my-search", "search"), WrongMasterKey)
    monkeypatch.setenv("TOOLCRIB_MASTER_KEY_FILE", str(new))
    assert desk.json("toolset", "run", "my-search", "search", "--args", '{"query": "x"}')["result"] == PAGES
    assert isinstance(desk.refused("toolset", "init-key", "--file", str(new)), MasterKeyUnusable)


def test_tokens_are_shown_once_listed_and_revoked(desk: Desk) -> None:
    made = desk.json("token", "create", "ada", "--type", EXA, "--days", "1", "--note", "laptop")
    text = desk.fine("token", "create", "root", "--role", "admin").strip()

    assert made["token"].startswith("tcat_")
    assert made["scopes"] == [f"scope_toolset-{EXA}"]
    listed = desk.json("token", "list")["tokens"]
    assert [(each["principal"], each["role"], each["valid"]) for each in listed] == [
        ("ada", "user", True),
        ("root", "admin", True),
    ]
    assert made["token"] not in desk.fine("token", "list")
    assert text not in desk.fine("token", "list", "--json")
    desk.fine("token", "revoke", made["id"])
    assert "revoked" in desk.fine("token", "list")
    assert desk.refused("token", "revoke", "none").code == "toolbox.token-refused"


def test_servers_and_packs_of_the_operator_are_types(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    servers = tmp_path / "servers.json"
    echo = Path(__file__).with_name("keyed_server.py")
    entry = {"command": sys.executable, "args": [str(echo)], "env": {"K": "${TOOLSET_KEY}"}}
    servers.write_text(json.dumps({"mcpServers": {"vault": entry}}), encoding="utf-8")
    packs = tmp_path / "packs"
    packs.mkdir()
    (packs / "whoami.tool.yaml").write_text(_PACK, encoding="utf-8")
    (packs / "whoami.py").write_text(_SCRIPT, encoding="utf-8")
    monkeypatch.setenv("TOOLCRIB_TOOLSET_SERVERS", str(servers))
    monkeypatch.setenv("TOOLCRIB_TOOLSET_PACKS", str(packs))
    for toolset_type, name in (("mcp-server-vault", "vault"), ("toolpack-demo-whoami", "whoami")):
        desk.fine("toolset", "create", toolset_type, name, "--key-file", "-", text=SECRET)
        desk.fine("toolset", "enable", toolset_type)

    assert desk.json("toolset", "run", "vault", "key_length")["result"] == {"result": len(SECRET)}
    assert desk.json("toolset", "run", "whoami", "whoami")["result"] == {"length": len(SECRET)}


def test_a_server_or_pack_without_a_place_for_a_key_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"plain": {"command": "python"}}}), encoding="utf-8")
    monkeypatch.setenv("TOOLCRIB_TOOLSET_SERVERS", str(servers))

    assert "TOOLSET_KEY" in str(desk.refused("toolset", "types").hint)
    for entry in ({"command": "python", "args": ["--key", "${TOOLSET_KEY}"]}, {"command": "${TOOLSET_KEY}"}):
        seen = {**entry, "env": {"K": "${TOOLSET_KEY}"}}
        servers.write_text(json.dumps({"mcpServers": {"plain": seen}}), encoding="utf-8")
        assert "others would see it" in desk.refused("toolset", "types").message
    monkeypatch.delenv("TOOLCRIB_TOOLSET_SERVERS")
    monkeypatch.setenv("TOOLCRIB_TOOLSETS_ALLOW", "everything")
    assert "loopback" in str(desk.refused("toolset", "types").hint)


def test_whose_and_which_come_from_the_command_line_then_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOOLCRIB_PRINCIPAL", "ada")
    environ = {"TOOLCRIB_STATE_DIR": str(tmp_path)}

    assert (user_of("eve"), user_of(None)) == ("eve", "ada")
    assert toolset_database("x.db", environ=environ) == "x.db"
    assert toolset_database(None, environ={**environ, "TOOLCRIB_TOOLSETS": "y.db"}) == "y.db"
    assert toolset_database(None, environ=environ) == tmp_path / "toolsets.db"


_PACK = """\
id: demo.whoami
version: 1.0.0
description: Tells how long the key is.
deterministic: false
timeoutMs: 10000
limits: {maxInputBytes: 1000, maxOutputBytes: 1000}
inputSchema: {type: object, properties: {}, additionalProperties: false}
outputSchema: {type: object}
metadata: {credential: WHOAMI_TOKEN}
env: {passthrough: [WHOAMI_TOKEN]}
risk: {effects: read}
execution: {kind: python, script: whoami.py}
"""
_SCRIPT = """\
import json, os
print(json.dumps({"length": len(os.environ["WHOAMI_TOKEN"])}))
"""


def test_the_doctor_looks_at_toolsets_where_there_are_any(desk: Desk) -> None:
    assert "toolsets" not in {each["name"] for each in desk.json("doctor", "--demo")["checks"]}
    desk.search()
    assert {"ok"} == {each["verdict"] for each in desk.json("doctor", "--demo")["checks"] if each["name"] == "toolsets"}
    (desk.folder / "state" / "master.key").unlink()
    desk.fine("toolset", "init-key")

    result = desk.run("doctor", "--demo", "--json")

    assert result.exit_code == 1
    assert "sealed under the master key" in result.stdout


def test_a_yaml_document_that_grows_without_bounds_is_refused(desk: Desk, tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{each}: &a{each} [{', '.join([f'*a{each - 1}'] * 10)}]" for each in range(1, 30)]
    document = tmp_path / "bomb.yaml"
    document.write_text("\n".join(lines), encoding="utf-8")

    refused = desk.refused("toolset", "import-openapi", str(document), "bomb", "--key-file", "-", text=SECRET)

    assert "500,000 values" in refused.message
