"""A server finds what its user's session finds, and gets no secret that it was not given."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import sandboxed_server
from process_children import SIGN, nothing_left

from toolcrib_mcp import ConfigError, load_config, upstream_of
from toolcrib_mcp.upstreams.environment import SESSION_VARIABLES, session_environment

pytestmark = pytest.mark.req("CL-8")

GITHUB_TOKEN = "ghp_" + "a1B2" * 9
FOUND = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/srv/ada",
    "LC_TIME": "de_DE.UTF-8",
    "TZ": "Europe/Berlin",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "DISPLAY": ":0",
    "WAYLAND_DISPLAY": "wayland-0",
    "XAUTHORITY": "/srv/ada/.Xauthority",
    "SSH_AUTH_SOCK": "/run/user/1000/agent.1",
    "KUBECONFIG": "/srv/ada/.kube/config",
    "AWS_PROFILE": "work",
    "AWS_REGION": "eu-central-1",
    "DOCKER_HOST": "unix:///run/user/1000/docker.sock",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "no_proxy": "localhost,.example",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/own.pem",
    "NVM_DIR": "/srv/ada/.nvm",
}
SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKIA" + "IOSFODNN7" * 2,
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI" + "/K7MDENG/bPxRfiCY",
    "GITHUB_TOKEN": GITHUB_TOKEN,
    "TOOLCRIB_JIRA_TOKEN": "of-another-server",
    "EDITOR": "vi",
}


def test_what_finds_things_is_passed_on_and_nothing_else() -> None:
    session = session_environment(FOUND | SECRETS)

    assert session.values == FOUND
    assert session.secret == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HTTPS_PROXY", "http://ada:pass@proxy.example:3128"),
        ("http_proxy", "ada:pass@proxy.example:3128"),
        ("ALL_PROXY", "socks5://token@proxy.example"),
        ("XDG_SESSION_ID", GITHUB_TOKEN),
    ],
)
def test_a_listed_variable_that_holds_a_secret_is_named_and_not_passed_on(name: str, value: str) -> None:
    session = session_environment({**FOUND, name: value})

    assert name not in session.values
    assert session.secret == (name,)
    assert value not in repr(session)
    assert session_environment({name: value}, [name]).values == {name: value}


@pytest.mark.parametrize(
    ("inherited", "more"),
    [
        (["EDITOR"], {"EDITOR"}),
        (["AWS_*"], {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}),
        (["*"], SECRETS.keys() - {"TOOLCRIB_JIRA_TOKEN"}),
        (["TOOLCRIB_JIRA_*"], {"TOOLCRIB_JIRA_TOKEN"}),
    ],
)
def test_names_and_patterns_add_variables_and_no_pattern_means_the_secrets_of_other_servers(
    inherited: list[str], more: set[str]
) -> None:
    assert session_environment(FOUND | SECRETS, inherited).values.keys() == FOUND.keys() | more


def test_the_guide_names_every_variable_of_the_list() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "mcp.md").read_text("utf-8")

    assert [each for each in SESSION_VARIABLES if f"`{each}`" not in guide and not each.islower()] == []


def test_a_function_that_a_shell_exported_is_not_passed_on() -> None:
    assert session_environment({"BASH_FUNC_x%%": "() { :; }"}, ["*"]).values == {}


def test_what_a_sandbox_confines_gets_the_basic_variables_and_what_is_named() -> None:
    session = session_environment(FOUND, ["KUBECONFIG"], confined=True)

    assert session.values.keys() == {"PATH", "HOME", "LC_TIME", "TZ", "KUBECONFIG"}


def _file(folder: Path, entry: dict[str, Any], ours: dict[str, Any]) -> Path:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"it": entry}, "toolcrib": ours}), "utf-8")
    return file


@pytest.mark.parametrize(
    ("own", "more"),
    [({}, set()), ({"inheritEnv": ["AWS_*"]}, {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"})],
)
async def test_a_server_that_runs_has_these_variables_and_its_own(
    tmp_path: Path, own: dict[str, Any], more: set[str]
) -> None:
    async with nothing_left() as family:
        entry = {
            "command": sys.executable,
            "args": ["-I", "-S", sandboxed_server.__file__],
            "env": {SIGN: family, "OWN": "x"},
        }
        config = load_config(_file(tmp_path, entry, {"inheritEnv": ["EDITOR"], "servers": {"it": own}}))
        environ = {**FOUND, **SECRETS, "HOME": str(tmp_path)}
        async with upstream_of(config.servers["it"], gateway=config.settings, environ=environ) as upstream:
            result = await upstream.call("tools/call", {"name": "environment", "arguments": {}}, timeout=60)

    # The child has a temporary directory, a locale and a mark in any case.
    names = set(json.loads(result["content"][0]["text"])) - {
        "TMPDIR",
        "LANG",
        "LC_CTYPE",
        "TOOLCRIB_TREE",
        "TOOLCRIB_CHAIN",
    }
    assert names == {*FOUND, "EDITOR", SIGN, "OWN", *more}


async def test_a_secret_that_was_inherited_is_taken_out_of_what_the_server_writes(tmp_path: Path) -> None:
    show = ["-I", "-c", "import os, sys; sys.stderr.write('it is ' + os.environ['GITHUB_TOKEN'])"]
    file = _file(tmp_path, {"command": sys.executable, "args": show}, {"inheritEnv": ["GITHUB_TOKEN"]})
    config = load_config(file)
    environ = {**FOUND, "GITHUB_TOKEN": "plain-words-of-mine", "PASSWORD": ""}

    async with upstream_of(config.servers["it"], gateway=config.settings, environ=environ) as upstream:
        with pytest.raises(Exception, match="ended") as raised:
            await upstream.start(timeout=30)

    told = str(raised.value.details)  # type: ignore[attr-defined]  # an UpstreamUnavailable
    assert "it is" in told
    assert "plain-words" not in told


@pytest.mark.parametrize("pattern", ["A=B", "", "AWS-*", "[A]"])
def test_what_is_no_name_and_no_pattern_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ConfigError, match="inheritEnv"):
        load_config(_file(tmp_path, {"command": "x"}, {"inheritEnv": [pattern]}))
