from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from toolcrib_core import ToolRisk
from toolcrib_mcp.config import (
    GatewayConfig,
    GatewaySettings,
    HttpFront,
    RestartPolicy,
    ServerSettings,
    load_config,
    network_for,
)
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.guards.net import NetGrant

pytestmark = pytest.mark.req("GW-6.1")

SERVERS = {"a": {"command": "run"}, "b": {"url": "https://b.example.com/mcp"}}


def load(directory: Path, settings: object = None, toml: str | None = None, servers: object = SERVERS) -> GatewayConfig:
    document = {"mcpServers": servers} | ({} if settings is None else {"toolcrib": settings})
    (directory / "mcp.json").write_bytes(orjson.dumps(document))
    if toml is not None:
        (directory / "toolcrib.toml").write_text(toml, encoding="utf-8")
    return load_config(directory / "mcp.json", environ={})


def refusal(
    directory: Path, settings: object = None, toml: str | None = None, servers: object = SERVERS
) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(directory, settings, toml, servers)
    return caught.value


def test_without_settings_everything_has_a_default(tmp_path):
    config = load(tmp_path)

    assert config.settings == GatewaySettings()
    assert config.servers["a"].settings == ServerSettings()
    assert config.settings.mode == "gateway"
    assert config.settings.http is None


def test_settings_stand_in_the_same_file(tmp_path):
    settings = {
        "mode": "proxy",
        "http": {"port": 9000},
        "callTimeout": 20,
        "limits": {"maxTools": 50},
        "servers": {"a": {"timeout": 5, "concurrency": 2, "namespace": "Alpha", "restart": {"when": "never"}}},
    }

    config = load(tmp_path, settings)

    assert config.settings.http == HttpFront(port=9000)
    assert config.settings.call_timeout == 20
    assert config.settings.limits.max_tools == 50
    assert config.servers["a"].namespace == "alpha"
    assert config.servers["a"].settings.restart == RestartPolicy(when="never")
    assert config.servers["b"].settings == ServerSettings()


def test_a_server_is_granted_nothing_but_what_is_written(tmp_path):
    config = load(tmp_path, {"mode": "transparent", "servers": {"a": {"grants": ["elicitation", "logging"]}}})

    assert config.settings.mode == "transparent"
    assert config.servers["a"].settings.grants == ("elicitation", "logging")
    assert config.servers["b"].settings.grants == ()


def test_settings_stand_in_a_file_beside_it_in_either_spelling(tmp_path):
    config = load(tmp_path, toml='call_timeout = 20\nmode = "proxy"\n[servers.a]\nstartTimeout = 3\n')

    assert config.settings.call_timeout == 20
    assert config.settings.mode == "proxy"
    assert config.servers["a"].settings.start_timeout == 3


def test_both_files_may_share_the_settings_between_them(tmp_path):
    settings = {
        "mode": "proxy",
        "http": {"port": 9000},
        "servers": {"a": {"timeout": 5, "risk": {"x*": {"effects": "read"}}}},
    }
    toml = """
        mode = "proxy"
        http.host = "::1"
        servers.a.trusted = true
        servers.a.risk."y*".effects = "write"
        servers.b.concurrency = 3
    """

    config = load(tmp_path, settings, toml)

    a, b = config.servers["a"].settings, config.servers["b"].settings
    assert config.settings.http == HttpFront(host="::1", port=9000)
    assert (a.timeout, a.trusted, list(a.risk), b.concurrency) == (5, True, ["x*", "y*"], 3)


def test_a_setting_that_both_files_have_differently_is_refused(tmp_path):
    error = refusal(tmp_path, {"servers": {"a": {"timeout": 5}}}, "[servers.a]\ntimeout = 6")

    assert error.details["problems"] == [
        {
            "message": "`servers/a/timeout` is set here and, differently, in the other file.",
            "file": "toolcrib.toml",
            "place": "/servers/a/timeout",
            "hint": "Keep one of them.",
        }
    ]


@pytest.mark.parametrize(
    ("settings", "place", "said"),
    [
        ({"mood": "proxy"}, "/mood", "there is no such setting"),
        ({"mode": "both"}, "/mode", "'gateway', 'proxy' or 'transparent'"),
        ({"servers": {"a": {"grants": ["all"]}}}, "/servers/a/grants/0", "'elicitation', 'sampling', 'roots' or"),
        ({"callTimeout": "5"}, "/callTimeout", "a valid number"),
        ({"callTimeout": 0}, "/callTimeout", "greater than 0"),
        ({"http": {"port": 70000}}, "/http/port", "less than or equal to 65535"),
        ({"http": {"host": "a b"}}, "/http/host", "expected a host name or an IP address"),
        ({"servers": {"a": {"allow": "x"}}}, "/servers/a/allow", "a valid array"),
        ({"servers": {"a": {"risk": {"*": {"effects": "some"}}}}}, "/servers/a/risk/*/effects", "'none', 'read'"),
        ({"servers": {"a": {"network": {"hosts": ["a b"]}}}}, "/servers/a/network/hosts/0", "expected a host name"),
        ({"servers": {"a": {"namespace": "${V}"}}}, "/servers/a/namespace", "take no variables"),
        ({"servers": {"a": {"allow": ["${V}"]}}}, "/servers/a/allow/0", "take no variables"),
        ([], "", "an object"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_with_its_place(tmp_path, settings, place, said):
    error = refusal(tmp_path, settings)

    assert error.details["problems"][0]["place"] == f"/toolcrib{place}"
    assert said in error.message


def test_settings_of_a_server_that_does_not_exist_are_refused_with_what_was_meant(tmp_path):
    servers = {"github": {"command": "run"}}

    assert "Was `github` meant?" in str(refusal(tmp_path, {"servers": {"gihub": {}}}, servers=servers).hint)
    assert "Remove them" in str(refusal(tmp_path, {"servers": {"other": {}}}, servers=servers).hint)


def test_a_server_can_be_switched_off_by_our_settings_whatever_is_wrong_with_it(tmp_path):
    servers = {
        "a": {"command": "run"},
        "b": {"url": "https://b.example.com/", "type": "pigeon"},
        "c": {"command": "${UNSET}"},
    }

    config = load(tmp_path, {"servers": {"b": {"enabled": False}, "c": {"enabled": False}}}, servers=servers)

    assert [server.name for server in config.enabled] == ["a"]


def test_a_namespace_is_free_to_choose_where_names_collide(tmp_path):
    servers = {"My Server": {"command": "run"}, "my-server": {"command": "run"}}

    config = load(tmp_path, {"servers": {"My Server": {"namespace": "mine"}}}, servers=servers)

    assert [server.namespace for server in config.enabled] == ["mine", "my-server"]


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("mode = proxy", "not TOML that we can read, at line 1, column 8"),
        ("a = " + "[" * 5000, "not TOML that we can read"),
        ("callTimeout = nan", "not a finite number"),
        ("callTimeout = 2026-01-01", "`date` is not JSON"),
        ("a = " + "9" * 5000, "not TOML that we can read"),
        ("a" + ".a" * 30_000 + " = 1", "more than 200 dots in a line"),
        ("#" * 70_000, "larger than 65,536 bytes"),
    ],
)
def test_a_settings_file_that_cannot_be_read_says_why(tmp_path, toml, said):
    error = refusal(tmp_path, toml=toml)

    assert said in error.message
    assert "`toolcrib.toml" in error.message


def test_a_settings_file_that_is_a_dangling_link_is_not_taken_for_none(tmp_path):
    (tmp_path / "toolcrib.toml").symlink_to(tmp_path / "gone")

    assert "`toolcrib.toml` is not there" in refusal(tmp_path).message


def test_a_problem_in_either_file_is_told_with_those_of_the_other(tmp_path):
    error = refusal(tmp_path, {"mode": "both"}, "mood = 1")

    assert "has 2 problems. Line 1: The setting `toolcrib/mode`" in error.message
    assert "`toolcrib.toml#/mood`: The setting `mood`" in error.message


def test_a_tool_is_admitted_by_what_is_allowed_and_not_by_what_is_denied():
    settings = ServerSettings(allow=("get_*", "list_?"), deny=("*secret*",))

    assert [settings.admits(tool) for tool in ("get_user", "list_a", "list_ab", "Get_user", "get_secret")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_the_first_pattern_that_fits_a_tool_decides_its_risk():
    settings = ServerSettings.model_validate({"risk": {"delete_*": {"destructive": True}, "*": {"effects": "read"}}})
    unknown = ToolRisk()

    assert settings.risk_of("delete_all").applied_to(unknown) == ToolRisk(destructive=True)
    assert settings.risk_of("get").applied_to(unknown) == ToolRisk(effects="read")
    assert ServerSettings().risk_of("get") is None


def test_settings_do_not_change():
    settings = ServerSettings.model_validate({"risk": {"*": {}}})

    with pytest.raises(TypeError):
        settings.risk["x"] = settings.risk["*"]
    with pytest.raises(ValueError, match="frozen"):
        settings.trusted = True


def test_settings_are_written_with_what_is_not_a_default(tmp_path):
    settings = {"callTimeout": 5.0, "servers": {"b": {"trusted": True, "network": {"allowPrivate": True}}}}

    config = load(tmp_path, settings)

    assert orjson.loads(config.to_json())["toolcrib"] == settings


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/mcp",
        "http://localhost:3000/mcp",
        "http://127.0.0.1:3000/mcp",
        "http://[::1]:3000/mcp",
        "http://192.168.1.7/mcp",
        "https://10.0.0.1/mcp",
    ],
)
def test_a_url_grants_what_it_literally_names(tmp_path, url):
    assert load(tmp_path, servers={"a": {"url": url}}).enabled


def test_a_url_grants_its_host_and_nothing_else():
    assert network_for("https://api.example.com/mcp", None) == NetGrant(hosts=("api.example.com",))
    assert network_for("http://localhost:1/", None) == NetGrant(hosts=("localhost",), allow_loopback=True)
    assert network_for("http://10.0.0.1/", None) == NetGrant(hosts=("10.0.0.1",), allow_private=True, allow_http=True)
    assert network_for("not a URL", None) == NetGrant()
    assert network_for("http://[", None) == NetGrant()


@pytest.mark.parametrize(
    ("url", "said", "can_be_granted"),
    [
        ("http://api.example.com/mcp", "plain http is not granted", True),
        ("http://169.254.169.254/mcp", "cloud metadata", False),
        ("https://user:pw@api.example.com/", "user name or password", False),
        ("unix:///run/mcp.sock", "does not start with `http://`", False),
        ("https://127.1/", "not a host name", False),
    ],
)
def test_a_url_that_is_never_requested_is_refused_when_it_is_read(tmp_path, url, said, can_be_granted):
    error = refusal(tmp_path, servers={"a": {"url": url}})

    assert said in error.message
    assert ("`network` under `toolcrib.servers`" in str(error.hint)) == can_be_granted
    assert error.details["place"] == "/mcpServers/a/url"


def test_a_grant_of_the_operator_stands_for_itself(tmp_path):
    grant = {"allowHttp": True, "hosts": ["*.example.com"]}

    config = load(tmp_path, {"servers": {"a": {"network": grant}}}, servers={"a": {"url": "http://api.example.com/"}})

    granted = config.servers["a"].settings.network
    assert network_for("http://api.example.com/", granted) is granted


@pytest.mark.parametrize("headers", [{"Host": "x"}, {"a b": "x"}, {"X": "a\nb"}, {"X": "é"}])
def test_a_header_that_is_never_sent_is_refused_when_it_is_read(tmp_path, headers):
    error = refusal(tmp_path, servers={"a": {"url": "https://a.example.com/", "headers": headers}})

    assert error.details["place"] == "/mcpServers/a/headers"
