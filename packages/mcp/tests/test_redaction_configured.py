"""Which values of a configuration are taken out of results: secrets, and not every setting."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib_mcp import load_config
from toolcrib_mcp.config.secret_names import is_secret_name
from toolcrib_mcp.redaction import ResultRedactor, configured_secrets
from toolcrib_mcp.redaction.configured import is_plain
from toolcrib_runtime.guards.secrets import REDACTED

CANARY = "canary-4f9a1c07"

pytestmark = [pytest.mark.req("GW-8.6"), pytest.mark.fault("F18")]


def secrets(folder: Path, *, environ: dict[str, str] | None = None, **entry: Any) -> set[str]:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"one": entry}}), "utf-8")
    config = load_config(file, environ=environ or {})
    return {each.reveal() for each in configured_secrets(config.servers.values())}


def of_env(folder: Path, **env: str) -> set[str]:
    return secrets(folder, command="x", env=env)


@pytest.mark.parametrize("name", ["API_TOKEN", "apiKey", "DB_PASS", "GITHUB_PAT", "SECRET", "MYTOKEN", "SENTRY_DSN"])
def test_under_a_name_that_says_so_a_plain_word_is_a_secret(tmp_path: Path, name: str) -> None:
    assert of_env(tmp_path, **{name: "hunter"}) == {"hunter"}
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["KEYBOARD", "AUTHOR", "NODE_ENV", "MONKEY", "PASSENGERS"])
def test_a_name_that_only_sounds_like_it_says_nothing(name: str) -> None:
    assert not is_secret_name(name)


def test_under_any_name_what_is_no_word_and_no_number_is_a_secret(tmp_path: Path) -> None:
    assert of_env(tmp_path, ANYTHING=CANARY) == {CANARY}


@pytest.mark.parametrize(
    "value",
    [
        *("production", "us-east-1", "gpt-4o-mini", "en_US.UTF-8", "2026-01-04", "v1.2.3-beta4", "10.0.0.7:8080"),
        *("/srv/jane/projects", "~/work", "https://api.example.com/v1", "jane@example.com", "a, b, c", "1048576"),
    ],
)
def test_settings_are_no_secrets(tmp_path: Path, value: str) -> None:
    assert of_env(tmp_path, ANYTHING=value) == set()
    assert is_plain(value)


@pytest.mark.parametrize(
    "value",
    [
        "/srv/project-7f3a9c0d2/files",
        "~/build-x81k2m9q",
        "./cache-9f8e7d6c5b",
        "C:\\work\\run-7f3a9c0d2",
        "sqlite:////srv/run-7f3a9c0d2/notes.db",
        "file:///srv/run-7f3a9c0d2",
    ],
)
def test_the_folders_of_a_local_path_are_no_secrets(tmp_path: Path, value: str) -> None:
    assert of_env(tmp_path, DB_URL=value) == set()
    assert of_env(tmp_path, API_TOKEN=value) != set()


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("https://hooks.example.com/services/T0/x81k2m9q7f3a9c0d2", "x81k2m9q7f3a9c0d2"),
        ("//host/x81k2m9q7f3a9c0d2?key=1", "x81k2m9q7f3a9c0d2"),
        ("postgresql://jane:x81k2m9q7f3a9c0d2@db/notes", "x81k2m9q7f3a9c0d2"),
        (f"/srv/ghp_{'a1B2' * 9}", f"ghp_{'a1B2' * 9}"),
    ],
)
def test_what_only_begins_like_a_path_keeps_its_secrets(tmp_path: Path, value: str, secret: str) -> None:
    assert secret in of_env(tmp_path, DB_URL=value)


@pytest.mark.parametrize(
    ("name", "value"), [("AUTH", "required"), ("SSH_KEY", "~/.ssh/id_ed25519"), ("TOKEN", "short")]
)
def test_a_setting_under_the_name_of_a_secret_is_still_a_setting(tmp_path: Path, name: str, value: str) -> None:
    assert of_env(tmp_path, **{name: value}) == set()


def test_an_id_is_told_on_purpose(tmp_path: Path) -> None:
    assert of_env(tmp_path, PROJECT_ID="550e8400-e29b-41d4-a716-446655440000") == set()
    assert of_env(tmp_path, AWS_ACCESS_KEY_ID="an-id-that-is-a-key1") == {"an-id-that-is-a-key1"}


def test_the_token_of_a_header_is_a_secret_without_its_scheme(tmp_path: Path) -> None:
    found = secrets(tmp_path, url="https://example.com/mcp", headers={"Authorization": f"Bearer {CANARY}"})

    assert found == {f"Bearer {CANARY}", CANARY}


def test_the_password_of_basic_credentials_is_a_secret_by_itself(tmp_path: Path) -> None:
    credentials = base64.b64encode(b"jane:hunter").decode()

    found = secrets(tmp_path, url="https://example.com/mcp", headers={"Authorization": f"Basic {credentials}"})

    assert found >= {"hunter", credentials}


@pytest.mark.parametrize("credentials", ["bm8gY29sb24=", "!not-base64!", "/w=="])
def test_credentials_that_are_no_pair_are_one_secret(tmp_path: Path, credentials: str) -> None:
    found = secrets(tmp_path, url="https://example.com/mcp", headers={"Authorization": f"Basic {credentials}"})

    assert f"Basic {credentials}" in found


def test_the_password_of_a_url_is_a_secret_by_itself(tmp_path: Path) -> None:
    assert "hunter" in of_env(tmp_path, DATABASE_URL="postgres://jane:hunter@db.example.com/app")


def test_every_line_of_a_key_is_a_secret(tmp_path: Path) -> None:
    lines = [f"{number}abCD1efGH2ijKL3mnOP4" for number in range(3)]

    assert of_env(tmp_path, ANYTHING="\n".join(lines)) >= set(lines)


def test_arguments_and_addresses_with_variables_are_searched(tmp_path: Path) -> None:
    environ = {"TOKEN": CANARY, "HOME": "/srv/jane", "PASS": "letmein"}

    by_args = secrets(tmp_path, environ=environ, command="x", args=["--password", "${PASS}", "${HOME}/a", "-k${TOKEN}"])
    by_url = secrets(tmp_path, environ=environ, url="https://example.com/mcp?key=${TOKEN}")

    assert by_args == {"letmein", f"-k{CANARY}"}
    assert CANARY in by_url


def test_a_result_loses_what_the_configuration_holds(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {"one": {"command": "x", "env": {"API_TOKEN": CANARY, "MODE": "production"}}}}),
        "utf-8",
    )
    config = load_config(tmp_path / "mcp.json")
    result = {"content": [{"type": "text", "text": f"in production with {CANARY}"}]}

    redacted = ResultRedactor(configured_secrets(config.servers.values())).redact(result, server="one")

    assert redacted.result["content"][0]["text"] == f"in production with {REDACTED}"
