from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib_mcp.config import FoundConfig, import_client_configs, load_config
from toolcrib_mcp.errors import ConfigError

pytestmark = pytest.mark.req("GW-6.1")

WORDS = st.sampled_from(
    "command args env cwd url serverUrl httpUrl headers type transport disabled enabled toolcrib servers mcpServers "
    "context_servers inputs mode http host port callTimeout limits risk network hosts allow namespace restart ${V} "
    "${U:-x} ${ ${input:a} $V stdio sse https://a.example.com/ http://127.0.0.1/ http://[ 127.0.0.1 * proxy "
    "••••".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)
ENTRIES = st.dictionaries(WORDS | st.text(max_size=4), st.dictionaries(WORDS, JSON, max_size=5) | JSON, max_size=4)
DOCUMENTS = JSON | st.fixed_dictionaries({"mcpServers": ENTRIES}, optional={"toolcrib": JSON, "servers": ENTRIES})
ENVIRONMENTS = st.dictionaries(st.sampled_from(["V", "U", "TOOLCRIB_INPUT_A"]), st.text(max_size=5) | WORDS)

reading = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(file: Path, environ: dict[str, str]) -> None:
    """Nothing but `ConfigError` may come out, and that must be JSON."""
    try:
        config = load_config(file, environ=environ)
    except ConfigError as error:
        orjson.dumps(error.to_dict())
        return
    for server in config.enabled:
        server.transport()
    config.to_json()
    repr(config)


@reading
@given(DOCUMENTS, ENVIRONMENTS)
def test_reading_any_json_gives_a_configuration_or_a_config_error(tmp_path, document, environ):
    file = tmp_path / "mcp.json"
    with suppress(TypeError):
        file.write_bytes(orjson.dumps(document))

        read(file, environ)


@reading
@given(st.binary(max_size=200) | st.text(st.sampled_from('{}[]",:/*\\ \nmcpServers'), max_size=200).map(str.encode))
def test_reading_any_bytes_gives_a_configuration_or_a_config_error(tmp_path, data):
    file = tmp_path / "mcp.json"
    file.write_bytes(data)

    read(file, {})


@reading
@given(st.binary(max_size=100) | st.text(st.sampled_from('mode="proxy".[]\n{}\'1-:T '), max_size=100).map(str.encode))
def test_any_settings_file_gives_a_configuration_or_a_config_error(tmp_path, data):
    file = tmp_path / "mcp.json"
    file.write_bytes(b'{"mcpServers": {"a": {"command": "run"}}}')
    (tmp_path / "toolcrib.toml").write_bytes(data)

    read(file, {})


@reading
@given(DOCUMENTS)
def test_importing_any_json_never_fails(tmp_path, document):
    file = tmp_path / "mcp.json"
    with suppress(TypeError):
        file.write_bytes(orjson.dumps(document))

        imported = import_client_configs([FoundConfig(client="cursor", path=file)], environ={})

        imported.config.to_json()
        assert all(note.outcome for note in imported.notes)


@pytest.mark.parametrize(
    "text",
    [
        "/*" * 150_000,
        '"' + '\\"' * 150_000,
        "//" * 150_000,
        "[," * 150_000,
        "{" * 300_000,
        '{"a":1,' * 40_000,
        '{"mcpServers":{"a":{"command":"x","args":["' + "${" * 150_000 + '"]}}}',
        '{"mcpServers":{"a":{"command":"x","args":["' + "${Q}" * 75_000 + '"]}}}',
        '{"mcpServers":{"a":{"command":"x","env":{"K":"' + "$" * 300_000 + '="}}}}',
        '{"mcpServers":{' + ",".join(f'"s{number}":{{"zz":1,"args":["${{Q}}"]}}' for number in range(8_000)) + "}}",
    ],
    ids=["comments", "quotes", "lines", "commas", "braces", "open", "dollars", "variables", "plain", "problems"],
)
def test_a_large_file_of_anything_is_read_in_linear_time(tmp_path, text):
    file = tmp_path / "mcp.json"
    file.write_text(text, encoding="utf-8")
    started = time.process_time()

    with suppress(ConfigError):
        load_config(file, environ={})

    # The slowest of them takes 0.8 s; what is quadratic takes minutes.
    assert time.process_time() - started < 20
