from __future__ import annotations

import copy
import dataclasses
import json
import logging
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.config import GatewayConfig, load_config, reveal
from toolcrib_mcp.config.templates import TemplateFault, escaped, parse_template
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.guards.secrets import REDACTED, Secret

pytestmark = pytest.mark.req("GW-6.1")

CANARY = "canary-3f9c"


def load(directory: Path, document: object, **environ: str) -> GatewayConfig:
    file = directory / "mcp.json"
    file.write_bytes(orjson.dumps(document))
    return load_config(file, environ=environ)


def args_of(directory: Path, *args: str, **environ: str) -> list[str]:
    config = load(directory, {"mcpServers": {"a": {"command": "run", "args": args}}}, **environ)
    return [reveal(text) for text in config.servers["a"].transport().args]


def refusal(directory: Path, entry: dict[str, object], **environ: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(directory, {"mcpServers": {"a": entry}}, **environ)
    return caught.value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("${NAME}", "value"),
        ("${env:NAME}", "value"),
        ("${NAME:-other}", "value"),
        ("${env:NAME:-other}", "value"),
        ("${UNSET:-other}", "other"),
        ("${UNSET:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("a-${NAME}-${UNSET:-b}-c", "a-value-b-c"),
        ("${UNSET:-a:-b}", "a:-b"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("$NAME", "$NAME"),
        ("$(NAME) {NAME} $", "$(NAME) {NAME} $"),
    ],
)
def test_variables_are_replaced_in_every_form(tmp_path, written, meant):
    assert args_of(tmp_path, written, NAME="value", EMPTY="") == [meant]


def test_a_value_with_a_variable_in_it_is_not_replaced_again(tmp_path):
    assert args_of(tmp_path, "${NAME}", NAME="${OTHER}", OTHER="x") == ["${OTHER}"]


def test_variables_are_replaced_in_every_text_of_a_server(tmp_path):
    servers = {
        "a": {"command": "${V}", "args": ["${V}"], "env": {"${V}": "${V}"}, "cwd": "/${V}"},
        "b": {"url": "https://${V}.example.com/", "headers": {"X": "${V}"}},
    }

    config = load(tmp_path, {"mcpServers": servers}, V="v")

    program, http = (server.transport().map(lambda _, text: reveal(text)) for server in config.enabled)
    assert (program.command, program.args, program.env, program.cwd) == ("v", ("v",), {"${V}": "v"}, "/v")
    assert (http.url, http.headers) == ("https://v.example.com/", {"X": "v"})


def test_a_variable_that_is_not_set_is_refused_by_server_place_and_name(tmp_path):
    error = refusal(tmp_path, {"command": "run", "env": {"TOKEN": "Bearer ${UNSET}"}})

    assert (
        error.message
        == "`mcp.json`, line 1: The server `a` needs the variable `UNSET` in `env/TOKEN`, which is not set."
    )
    assert error.hint == "Set it, or write `${UNSET:-default}`."
    assert error.details["place"] == "/mcpServers/a/env/TOKEN"


def test_every_variable_that_is_not_set_is_told(tmp_path):
    error = refusal(tmp_path, {"command": "${ONE}", "args": ["${TWO}${THREE}"]})

    assert all(f"`{name}`" in error.message for name in ("ONE", "TWO", "THREE"))


def test_only_the_server_whose_variable_is_not_set_is_left_out(tmp_path):
    servers = {"keyed": {"command": "run", "env": {"TOKEN": "${UNSET}"}}, "plain": {"command": "run"}}

    config = load(tmp_path, {"mcpServers": servers})

    assert [server.name for server in config.enabled] == ["plain"]
    assert config.servers["keyed"].missing == ("UNSET",)
    (warning,) = config.warnings
    assert (warning.left_out, warning.place) == ("keyed", "/mcpServers/keyed/env/TOKEN")
    assert (
        "The server `keyed` needs the variable `UNSET` in `env/TOKEN`, which is not set. The server is left out."
        in str(warning)
    )


def test_a_file_is_refused_when_no_server_of_it_has_its_variables(tmp_path):
    servers = {name: {"command": "run", "args": [f"${{{name}}}"]} for name in ("ONE", "TWO")}
    servers["off"] = {"command": "run", "disabled": True}

    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {"mcpServers": servers})

    assert all(f"`{name}`" in caught.value.message for name in ("ONE", "TWO"))


def test_a_server_that_is_left_out_is_written_as_one_that_is_switched_on(tmp_path):
    servers = {"keyed": {"command": "run", "args": ["${UNSET}"]}, "plain": {"command": "run"}}

    written = json.loads(load(tmp_path, {"mcpServers": servers}).to_json())

    assert written["mcpServers"]["keyed"] == {"command": "run", "args": ["${UNSET}"]}


def test_an_input_of_vs_code_is_asked_for_by_a_variable_of_its_own(tmp_path):
    entry = {"command": "run", "env": {"KEY": "${input:api-key}"}}

    config = load(tmp_path, {"inputs": [{"id": "api-key"}], "servers": {"a": entry}}, TOOLCRIB_INPUT_API_KEY="k")

    assert reveal(config.servers["a"].transport().env["KEY"]) == "k"
    assert "`TOOLCRIB_INPUT_API_KEY`" in refusal(tmp_path, entry).message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${NAME", "no matching `}`"),
        ("${A:-${B}}", "no matching `}`"),
        ("${}", "not the name of a variable"),
        ("${1}", "not the name of a variable"),
        ("${NAME:?message}", "not the name of a variable"),
        ("${workspaceFolder:other}/x", "only in an editor"),
        ("${command:pick}", "only in an editor"),
    ],
)
def test_a_variable_that_cannot_be_replaced_is_refused(tmp_path, text, said):
    error = refusal(tmp_path, {"command": "run", "args": [text]})

    assert said in error.message
    assert error.details["place"] == "/mcpServers/a/args/0"


def test_a_text_that_other_clients_would_replace_is_passed_on_with_a_warning(tmp_path):
    config = load(tmp_path, {"mcpServers": {"a": {"command": "run", "env": {"KEY": "$MY_TOKEN"}}}}, MY_TOKEN="x")

    assert reveal(config.servers["a"].transport().env["KEY"]) == "$MY_TOKEN"
    assert config.warnings[0].hint == "Write `${NAME}`."


@pytest.mark.parametrize("value", ["\udcff", REDACTED])
def test_a_value_that_no_secret_can_have_is_refused(tmp_path, value):
    error = refusal(tmp_path, {"command": "run", "args": ["${NAME}"]}, NAME=value)

    assert "a value that cannot be used" in error.message


def test_the_bullets_of_a_dumped_secret_are_refused(tmp_path):
    written = refusal(tmp_path, {"command": "run", "env": {"KEY": REDACTED}})
    joined = refusal(tmp_path, {"command": "run", "args": ["••${NAME}"]}, NAME="••")

    assert written.details["place"] == "/mcpServers/a/env/KEY"
    assert joined.details["place"] == "/mcpServers/a/args/0"


def secret_everywhere() -> dict[str, object]:
    return {
        "mcpServers": {
            "program": {
                "command": "${V}",
                "args": [
                    "--x=${V}",
                    "--api-key",
                    CANARY,
                    f"ghp_{CANARY.replace('-', '')}{'0' * 20}",
                    f"--password={CANARY}",
                ],
                "env": {"A": CANARY, "B": "${V}", "C": "${UNSET:-" + CANARY + "}", "D": f"u:{CANARY}@${{V}}"},
                "cwd": "/${V}",
            },
            "remote": {
                "url": f"https://mcp.example.com/mcp?key={CANARY}",
                "headers": {"Authorization": f"Bearer {CANARY}", "X-Key": "${V}", "Cookie": f"a={CANARY}; b=${{V}}"},
            },
        }
    }


def test_secrets_are_in_no_repr_dump_or_log(tmp_path, caplog):
    config = load(tmp_path, secret_everywhere(), V=CANARY)
    transports = [server.transport() for server in config.enabled]

    with caplog.at_level(logging.INFO):
        logging.getLogger().info("%s %r %s", config, copy.copy(config), transports)
    dumped = repr([dataclasses.asdict(transport) for transport in transports])

    for shown in (caplog.text, dumped, repr(config), config.to_json(), repr(config.placeholders())):
        assert CANARY not in shown
        assert CANARY.replace("-", "") not in shown


def test_environment_and_headers_are_secrets_however_they_were_written(tmp_path):
    program, remote = (server.transport() for server in load(tmp_path, secret_everywhere(), V="v").enabled)

    assert all(isinstance(text, Secret) for text in (*program.env.values(), *remote.headers.values()))
    assert isinstance(program.command, Secret)
    assert isinstance(remote.url, Secret)


def test_secrets_are_in_no_error(tmp_path):
    document = secret_everywhere()
    document["mcpServers"]["program"] |= {"type": CANARY, "disabled": CANARY}
    document["mcpServers"]["remote"] |= {"url": f"http://{CANARY}.example.com/{CANARY}"}
    document["mcpServers"]["third"] = {
        "command": "run",
        "env": {"A": [CANARY], "B": f"${{{CANARY}}}"},
        "args": {"a": CANARY},
    }
    document["toolcrib"] = {"mode": CANARY, "callTimeout": CANARY, "http": {"host": f"{CANARY} "}}

    with pytest.raises(ConfigError) as caught:
        load(tmp_path, document, V=CANARY)

    assert len(caught.value.details["problems"]) > 5
    assert CANARY not in f"{caught.value!r} {caught.value} {orjson.dumps(caught.value.to_dict()).decode()}"


def test_a_file_is_written_with_variables_in_place_of_secrets(tmp_path):
    config = load(tmp_path, secret_everywhere(), V="v")

    written = orjson.loads(config.to_json())["mcpServers"]

    assert written["program"]["env"] == {
        "A": "${TOOLCRIB_PROGRAM_A}",
        "B": "${V}",
        "C": "${TOOLCRIB_PROGRAM_C}",
        "D": "${TOOLCRIB_PROGRAM_D}${V}",
    }
    assert written["remote"]["headers"] == {
        "Authorization": "Bearer ${TOOLCRIB_REMOTE_HEADERS_AUTHORIZATION}",
        "X-Key": "${V}",
        "Cookie": "${TOOLCRIB_REMOTE_HEADERS_COOKIE}${V}",
    }
    assert config.placeholders()["TOOLCRIB_PROGRAM_A"] == Secret(CANARY)


def test_made_up_variables_never_take_a_name_that_is_in_use(tmp_path):
    servers = {
        "a-b": {"command": "run", "env": {"C": "one"}},
        "a_b": {"command": "run", "env": {"C": "two", "D": "${TOOLCRIB_A_B_C_2}"}},
    }

    config = load(tmp_path, {"mcpServers": servers}, TOOLCRIB_A_B_C_2="three")

    assert {name: secret.reveal() for name, secret in config.placeholders().items()} == {
        "TOOLCRIB_A_B_C": "one",
        "TOOLCRIB_A_B_C_3": "two",
    }


def test_a_header_of_bullets_behind_a_scheme_is_hidden_whole(tmp_path):
    servers = {"a": {"url": "https://x.example.com/", "headers": {"A": f"Bearer {REDACTED}"}}}

    with pytest.raises(ConfigError, match="not ASCII"):
        load(tmp_path, {"mcpServers": servers})
    servers["a"]["disabled"] = True
    config = load(tmp_path, {"mcpServers": servers})

    assert REDACTED not in config.to_json()


TEXTS = st.text(st.sampled_from("aB${}:-é /\\\"'\n"), max_size=12)


@st.composite
def templates(draw: st.DrawFn) -> str:
    parts = st.one_of(
        TEXTS.filter(lambda text: not text.endswith("$")).map(escaped), st.sampled_from(["${V}", "${U:-d}", "${env:W}"])
    )
    return "".join(draw(st.lists(parts, max_size=4)))


@given(
    entries=st.lists(
        st.fixed_dictionaries(
            {"command": st.just("run"), "args": st.lists(templates(), max_size=3)},
            optional={"env": st.dictionaries(st.sampled_from(["A", "B", "a"]), templates()), "disabled": st.booleans()},
        ),
        min_size=1,
        max_size=3,
    )
)
def test_what_is_written_is_read_back_as_the_same(tmp_path_factory, entries):
    environ = {"V": "value", "W": "w"}
    directory = tmp_path_factory.mktemp("config")
    config = load(directory, {"mcpServers": {f"s{index}": entry for index, entry in enumerate(entries)}}, **environ)

    secrets = {name: secret.reveal() for name, secret in config.placeholders().items()}
    again = load(directory, orjson.loads(config.to_json()), **environ, **secrets)

    assert again.to_json() == config.to_json()
    for name, server in config.servers.items():
        assert again.servers[name].enabled == server.enabled
        assert _revealed(again, name) == _revealed(config, name)


def _revealed(config: GatewayConfig, name: str) -> object:
    return config.servers[name].transport().map(lambda _, text: reveal(text))


@given(st.text())
def test_an_escaped_text_means_itself(text):
    template = parse_template(escaped(text), hidden=False)

    assert template.filled({}) == text


@given(st.text(st.sampled_from("aV1_${}:-?envput ")))
def test_a_text_is_a_template_or_a_fault_and_nothing_else(text):
    with suppress(TemplateFault):
        template = parse_template(text, hidden=True)

        assert all(part for part in template.parts)
