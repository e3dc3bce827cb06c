from __future__ import annotations

import os
import re
from pathlib import Path

import orjson
import pytest

from toolcrib_mcp.config import GatewayConfig, HttpTransport, StdioTransport, load_config, reveal
from toolcrib_mcp.errors import ConfigError

pytestmark = pytest.mark.req("GW-6.1")


def load(directory: Path, document: object, **environ: str) -> GatewayConfig:
    file = directory / "mcp.json"
    file.write_bytes(document.encode() if isinstance(document, str) else orjson.dumps(document))
    return load_config(file, environ=environ)


def refusal(directory: Path, document: object, **environ: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(directory, document, **environ)
    return caught.value


def revealed(config: GatewayConfig, name: str) -> StdioTransport[str] | HttpTransport[str]:
    return config.servers[name].transport().map(lambda _, text: reveal(text))


def test_a_program_is_read_as_claude_desktop_writes_it(tmp_path):
    entry = {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "value"}, "cwd": "/srv"}

    config = load(tmp_path, {"mcpServers": {"github": entry}})

    assert revealed(config, "github") == StdioTransport(
        command="npx", args=("-y", "server"), env={"KEY": "value"}, cwd="/srv"
    )
    assert config.servers["github"].enabled
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("mcpServers", {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
        ("mcpServers", {"url": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
        ("mcpServers", {"type": "streamableHttp", "url": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
        (
            "mcpServers",
            {"transport": "streamable-http", "url": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}},
        ),
        ("mcpServers", {"serverUrl": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
        ("mcpServers", {"httpUrl": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
        ("servers", {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
        ("context_servers", {"url": "https://mcp.example.com/mcp", "headers": {"X-Key": "k"}}),
    ],
    ids=["claude-code", "cursor", "cline", "portable", "windsurf", "gemini", "vscode", "zed"],
)
def test_an_http_server_is_read_as_each_client_writes_it(tmp_path, key, entry):
    config = load(tmp_path, {key: {"docs": entry}})

    assert revealed(config, "docs") == HttpTransport(url="https://mcp.example.com/mcp", headers={"X-Key": "k"})


@pytest.mark.parametrize("kind", ["stdio", "local"])
def test_a_type_that_means_a_program_is_accepted(tmp_path, kind):
    config = load(tmp_path, {"servers": {"memory": {"type": kind, "command": "npx"}}})

    assert isinstance(revealed(config, "memory"), StdioTransport)


def test_servers_keep_the_order_of_the_file(tmp_path):
    names = ["zebra", "ant", "mole"]

    config = load(tmp_path, {"mcpServers": {name: {"command": "run"} for name in names}})

    assert list(config.servers) == names


def test_a_number_in_the_environment_counts_as_its_text(tmp_path):
    config = load(tmp_path, {"servers": {"a": {"command": "run", "env": {"PORT": 8080}}}})

    assert revealed(config, "a").env == {"PORT": "8080"}


def test_a_server_that_is_switched_off_is_kept_and_not_served(tmp_path):
    servers = {
        "on": {"command": "run"},
        "off": {"command": "run", "disabled": True},
        "zed": {"command": "x", "enabled": False},
    }

    config = load(tmp_path, {"mcpServers": servers})

    assert [server.name for server in config.enabled] == ["on"]
    assert list(config.servers) == ["on", "off", "zed"]


def test_a_server_that_is_switched_off_needs_no_variables(tmp_path):
    servers = {"on": {"command": "run"}, "off": {"command": "run", "args": ["${UNSET}"], "disabled": True}}

    config = load(tmp_path, {"mcpServers": servers})

    with pytest.raises(ConfigError, match="`UNSET` is not set"):
        config.servers["off"].transport()


def test_what_is_wrong_with_a_server_that_is_switched_off_is_only_a_warning(tmp_path):
    servers = {"on": {"command": "run"}, "off": {"url": "https://x.example.com/", "type": "pigeon", "disabled": True}}

    config = load(tmp_path, {"mcpServers": servers})

    assert list(config.servers) == ["on"]
    assert [warning.place for warning in config.warnings] == ["/mcpServers/off/type"]


def test_a_file_whose_servers_are_all_switched_off_is_only_odd(tmp_path):
    config = load(tmp_path, {"mcpServers": {"off": {"command": "run", "disabled": True}}})

    assert config.enabled == ()
    assert [warning.message for warning in config.warnings] == ["Every server is switched off."]


def test_keys_of_other_clients_are_warnings_with_their_line(tmp_path):
    text = '{\n"theme": "dark",\n"mcpServers": {\n"a": {\n"command": "run", "autoApprove": []}}}'

    config = load(tmp_path, text)

    assert [(warning.line, warning.message) for warning in config.warnings] == [
        (1, "These keys are not read: `theme`."),
        (4, "In the server `a`, these keys are not read: `autoApprove`."),
    ]


def test_a_misspelt_key_at_the_top_is_named_with_what_was_meant(tmp_path):
    config = load(tmp_path, {"mcpServers": {"a": {"command": "run"}}, "toolcirb": {}})

    assert config.warnings[0].hint == "Was `toolcrib` meant?"


def test_a_relative_working_directory_begins_at_the_file(tmp_path):
    config = load(tmp_path, {"mcpServers": {"a": {"command": "run", "cwd": "sub/${NAME}"}}}, NAME="dir")

    assert revealed(config, "a").cwd == f"{tmp_path}{os.sep}sub/dir"


def test_a_working_directory_that_a_variable_begins_must_be_absolute(tmp_path):
    error = refusal(tmp_path, {"mcpServers": {"a": {"command": "run", "cwd": "${NAME}"}}}, NAME="dir")

    assert "The directory is not absolute." in error.message


def test_any_text_can_be_the_name_of_a_server(tmp_path):
    names = ["Müller's Büro 3", "天気", "🐙", "a/b~c"]

    config = load(tmp_path, {"mcpServers": {name: {"command": "run"} for name in names}})

    namespaces = [config.servers[name].namespace for name in names]
    assert all(re.fullmatch("[a-z][a-z0-9_-]{0,63}", namespace) for namespace in namespaces)
    assert namespaces[0] == "muller-s-buro-3"


def test_of_two_names_that_become_one_namespace_the_second_is_left_out(tmp_path):
    config = load(tmp_path, {"mcpServers": {"My Server": {"command": "run"}, "my-server": {"command": "run"}}})

    assert "`My Server`, `my-server`" in config.left_out["my-server"]
    assert "`my-server`." in config.left_out["my-server"]


def test_a_namespace_of_a_server_that_is_switched_off_is_free(tmp_path):
    servers = {"My Server": {"command": "run"}, "my-server": {"command": "run", "disabled": True}}

    assert load(tmp_path, {"mcpServers": servers}).enabled[0].namespace == "my-server"


def test_of_a_server_under_two_keys_the_first_counts(tmp_path):
    config = load(tmp_path, {"mcpServers": {"a": {"command": "run"}}, "servers": {"a": {"command": "other"}}})

    assert revealed(config, "a").command == "run"
    assert config.warnings[0].message == "The server `a` is there twice, and the first one counts."


@pytest.mark.parametrize(
    ("entry", "place", "said"),
    [
        ({}, "", "neither a command nor a URL"),
        ({"command": "run", "url": "https://x.example.com/"}, "", "both a command and a URL"),
        ({"command": ""}, "/command", "not text that is not empty"),
        ({"command": None}, "/command", "null, not text"),
        ({"command": ["run"]}, "/command", "a list of 1 item, not text"),
        ({"command": "run", "args": "-y"}, "/args", "a string of 2 characters, not a list of texts"),
        ({"command": "run", "args": ["a", 1]}, "/args/1", "an integer, not text"),
        ({"command": "run", "env": ["A=b"]}, "/env", "not an object of texts"),
        ({"command": "run", "env": {"A": True}}, "/env/A", "a boolean, not text"),
        ({"command": "run", "env": {"A=B": "c"}}, "/env", "cannot be the name of a variable"),
        ({"command": "run", "disabled": "yes"}, "/disabled", "not true or false"),
        ({"command": "run", "type": "http"}, "/type", "asks for a URL"),
        ({"url": "https://x.example.com/", "type": "stdio"}, "/type", "asks for a command"),
        ({"url": "https://x.example.com/", "type": "carrier-pigeon"}, "/type", "no transport that we know"),
        ({"transport": {"type": "http"}}, "/transport", "an object with 1 property, not text"),
        ({"url": "https://x.example.com/", "serverUrl": "https://y.example.com/"}, "/serverUrl", "more than one URL"),
        ({"command": "run", "envFile": ".env"}, "/envFile", "The file `.env` is not there."),
        ({"command": "run 'x"}, "/command", "quotes that are not closed"),
        ({"command": "run", "toolcrib": {}}, "/toolcrib", "`toolcrib` is not read here"),
        ("run", "", "a string of 3 characters, not an object"),
    ],
)
def test_an_entry_of_the_wrong_shape_is_told_with_its_place(tmp_path, entry, place, said):
    error = refusal(tmp_path, {"mcpServers": {"a": entry}})

    assert f"/mcpServers/a{place}" in [problem["place"] for problem in error.details["problems"]]
    assert said in error.message


@pytest.mark.parametrize("flag", [True, False])
def test_an_entry_that_is_switched_on_and_off_is_off_and_says_so(tmp_path, flag):
    entry = {"command": "run", "disabled": flag, "enabled": flag}

    config = load(tmp_path, {"mcpServers": {"a": entry}})

    assert config.enabled == ()
    assert "contradict each other" in config.warnings[0].message


@pytest.mark.req("CL-9")
@pytest.mark.parametrize("key", ["type", "transport"])
def test_the_sse_transport_is_understood_and_written_again(tmp_path, key):
    config = load(tmp_path, {"mcpServers": {"a": {"url": "https://x.example.com/sse", key: "sse"}}})

    assert config.servers["a"].written.protocol == "sse"
    assert orjson.loads(config.to_json())["mcpServers"]["a"] == {"type": "sse", "url": "https://x.example.com/sse"}


@pytest.mark.req("CL-9")
@pytest.mark.parametrize(
    ("entry", "protocol"),
    [
        ({"url": "https://x.example.com/"}, None),
        ({"serverUrl": "https://x.example.com/"}, None),
        ({"httpUrl": "https://x.example.com/"}, "streamable-http"),
        ({"url": "https://x.example.com/", "type": "streamable-http"}, "streamable-http"),
    ],
)
def test_a_url_without_a_type_leaves_the_transport_to_be_found_out(tmp_path, entry, protocol):
    assert load(tmp_path, {"mcpServers": {"a": entry}}).servers["a"].written.protocol == protocol


def test_an_empty_name_is_refused(tmp_path):
    assert "empty name" in refusal(tmp_path, {"mcpServers": {" ": {"command": "run"}}}).message


def test_every_problem_of_a_file_is_told_at_once_in_the_order_of_lines(tmp_path):
    text = """{
      "mcpServers": {
        "one": {"command": 1},
        "two": {
          "args": ["x"]
        },
        "three": {"command": "run", "args": ["${UNSET}"]}
      },
      "toolcrib": {
        "mode": "both"
      }
    }"""

    error = refusal(tmp_path, text)

    assert [(problem["line"], problem["place"]) for problem in error.details["problems"]] == [
        (3, "/mcpServers/one/command"),
        (4, "/mcpServers/two"),
        (7, "/mcpServers/three/args/0"),
        (10, "/toolcrib/mode"),
    ]
    assert error.message.startswith("`mcp.json` has 4 problems. Line 3: ")
    assert error.details["place"] == "/mcpServers/one/command"


def test_a_thousand_problems_are_counted_and_not_all_told(tmp_path):
    error = refusal(tmp_path, {"mcpServers": {f"s{number}": {} for number in range(1000)}})

    assert "has 1,000 problems" in error.message
    assert error.message.endswith("And 980 more.")
    assert len(error.details["problems"]) == 100


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "none of the keys that servers stand under"),
        ({"mcpServers": {}}, "has no servers in it"),
        ({"mcpServers": []}, "`mcpServers` is a list of 0 items, not an object"),
        ([], "a list of 0 items, not an object"),
        ("", "not JSON that we can read"),
        ('{"mcpServers": {\n  "a": }}', "at line 2, column 8"),
        ('{"mcpServers": {"a": {"command": "x", "command": "y"}}}', "a key that its object already has"),
        ("[" * 70 + "]" * 70, "nested deeper than 64"),
        ('{"a": "' + "x" * 1024 * 1024 + '"}', "larger than 1,048,576 bytes"),
    ],
    ids=["no key", "no servers", "a list of servers", "a list", "empty", "broken", "twice", "deep", "large"],
)
def test_a_file_that_is_no_configuration_says_why(tmp_path, document, said):
    assert said in refusal(tmp_path, document).message


@pytest.mark.req("CT-27")
def test_a_gateway_that_has_other_tools_needs_no_server(tmp_path):
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")

    config = load_config(tmp_path / "mcp.json", needs_servers=False)

    assert (config.servers, config.warnings) == ({}, ())
    (tmp_path / "mcp.json").write_text('{"mcpServer": {}}', encoding="utf-8")
    with pytest.raises(ConfigError, match="none of the keys that servers stand under"):
        load_config(tmp_path / "mcp.json", needs_servers=False)


def test_a_file_that_is_not_there_says_how_to_make_one(tmp_path):
    with pytest.raises(ConfigError, match=r"`gone\.json` is not there") as caught:
        load_config(tmp_path / "gone.json")

    assert "toolcrib init" in str(caught.value.hint)


@pytest.mark.parametrize("path", ["", "a\0b", "\udcff", "x" * 5000])
def test_a_path_that_is_none_is_refused(path):
    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert orjson.dumps(caught.value.to_dict())


def test_a_directory_is_not_a_configuration(tmp_path):
    with pytest.raises(ConfigError, match="is not a file"):
        load_config(tmp_path)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ConfigError, match="is not a file"):
        load_config(tmp_path / "pipe")


def test_a_path_through_a_file_cannot_be_read(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        load_config(tmp_path / "file" / "mcp.json")


def test_text_in_another_encoding_is_refused_with_its_line(tmp_path):
    (tmp_path / "mcp.json").write_bytes(b'{\n"a": "\xff"}')

    with pytest.raises(ConfigError, match="not UTF-8 text, at line 2"):
        load_config(tmp_path / "mcp.json")


def test_a_byte_order_mark_is_no_problem(tmp_path):
    assert load(tmp_path, '\ufeff{"mcpServers": {"a": {"command": "run"}}}').enabled
