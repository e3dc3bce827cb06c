"""What `init` writes of the servers of clients: no secret, and as much of the rest as says what it is."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from toolcrib_mcp.config import FoundConfig, import_client_configs, load_config, reveal

CANARY = "Kx7" + "canary" + "9Qz2"
WORD = "opensesame"

ARGUMENTS: dict[str, list[str]] = {
    "docker": ["run", "-i", "--rm", "-e", f"TOKEN={CANARY}", "image"],
    "docker-word": ["run", "-e", f"LOGIN={WORD}", "image"],
    "docker-env": ["run", "--env", f"DATABASE_URL={CANARY}", "image"],
    "glued": ["run", f"-eTOKEN={CANARY}", "image"],
    "glued-word": ["run", f"-eLOGIN={WORD}", "image"],
    "glued-cluster": ["run", f"-ieTOKEN={CANARY}", "image"],
    "cluster": ["run", "-ie", f"TOKEN={CANARY}", "image"],
    "env-equals": ["run", f"--env=LOGIN={WORD}", "image"],
    "env-program": [f"API_KEY={CANARY}", "node", "server.js"],
    "p": ["-p", CANARY],
    "p-word": ["-p", WORD],
    "k": ["-k", CANARY],
    "k-word": ["-k", WORD],
    "p-glued": [f"-p{CANARY}"],
    "k-glued": [f"-k{CANARY}"],
    "p-glued-word": [f"-p{WORD}"],
    "p-equals": [f"-p={WORD}"],
    "k-equals": [f"-k={CANARY}"],
    "flag": ["--api-key", CANARY],
    "flag-equals": [f"--brave-api-key={WORD}"],
    "flag-pat": ["--pat", CANARY],
    "flag-auth": [f"--auth={CANARY}"],
    "one-dash": ["-password", WORD],
    "colon": [f"/password:{WORD}"],
    "header": ["--header", f"X-Custom: {WORD}"],
    "header-short": ["-H", f"Authorization: Bearer {CANARY}"],
    "header-glued": [f"-HX-Custom: {WORD}"],
    "header-equals": [f"--header=X-Custom: {WORD}"],
    "user": ["-u", f"ada:{WORD}"],
    "url-query": [f"https://mcp.example.com/mcp?k={WORD}"],
    "url-path": [f"https://mcp.example.com/s/{CANARY}/mcp"],
    "url-path-token": [f"https://mcp.example.com/token-{WORD}/mcp", f"--token={WORD}"],
    "url-user": [f"https://{CANARY}@mcp.example.com/mcp"],
    "url-option": [f"--endpoint=https://mcp.example.com/{CANARY}"],
    "url-glued": [f"-khttps://mcp.example.com/{CANARY}"],
    "url-database": [f"postgresql://ada:{WORD}@db.example.com/sales"],
    "line": ["-c", f"docker run -e LOGIN={WORD} image"],
    "line-of-a-shell": ["-c", f"SERVICE_TOKEN={CANARY} exec server"],
    "default": ["-e", "TOKEN=${TOKEN:-" + CANARY + "}"],
}
URLS = {
    "query": f"https://mcp.example.com/mcp?api={WORD}",
    "fragment": f"https://mcp.example.com/mcp#{WORD}",
    "path": f"https://mcp.example.com/api/mcp/s/{CANARY}/mcp",
    "path-escaped": f"https://mcp.example.com/%4b{CANARY}/mcp",
    "path-hex": "https://mcp.example.com/0123abcd4567ef89/" + CANARY,
    "user": f"https://{CANARY}@mcp.example.com/mcp",
    "password": f"https://ada:{WORD}@mcp.example.com/mcp",
    "default": "https://mcp.example.com/${PART:-" + CANARY + "}/mcp",
}


def imported(folder: Path, entry: dict[str, object]) -> tuple[str, dict[str, str], str]:
    """What is written of one server, the variables in place of its secrets, and everything that is shown of it."""
    file = folder / "client.json"
    file.write_bytes(orjson.dumps({"mcpServers": {"it": entry}}))
    found = import_client_configs([FoundConfig(client="cursor", path=file)], environ={})
    secrets = {name: secret.reveal() for name, secret in found.config.placeholders().items()}
    return found.config.to_json(), secrets, f"{found!r}{found.notes}{list(secrets)}"


def reads_the_same(folder: Path, written: str, secrets: dict[str, str], entry: dict[str, object]) -> bool:
    """Whether the file that was written, with the values of its variables, means what the file of the client does."""
    meant = []
    for name, text in (
        ("written.json", written),
        ("client.json", orjson.dumps({"mcpServers": {"it": entry}}).decode()),
    ):
        (folder / name).write_text(text, "utf-8")
        server = load_config(folder / name, environ=secrets).servers["it"]
        meant.append(server.transport().map(lambda _, text: reveal(text)))
    return meant[0] == meant[1]


@pytest.mark.fault("K15")
@pytest.mark.req("GW-6.1")
@pytest.mark.parametrize("form", ARGUMENTS)
def test_no_secret_in_arguments_is_written(form: str, tmp_path: Path) -> None:
    entry: dict[str, object] = {"command": "run", "args": ARGUMENTS[form]}

    written, secrets, shown = imported(tmp_path, entry)

    assert CANARY not in written + shown
    assert WORD not in written + shown
    assert secrets
    assert reads_the_same(tmp_path, written, secrets, entry)


@pytest.mark.fault("K15")
@pytest.mark.req("GW-6.1")
@pytest.mark.parametrize("form", URLS)
def test_no_secret_in_a_url_is_written(form: str, tmp_path: Path) -> None:
    entry: dict[str, object] = {"url": URLS[form], "headers": {"X-Plain": WORD}}

    written, secrets, shown = imported(tmp_path, entry)

    assert CANARY not in written + shown
    assert WORD not in written + shown
    # A URL with a user is imported, and then refused where it is served.
    assert form in {"user", "password"} or reads_the_same(tmp_path, written, secrets, entry)


@pytest.mark.fault("K15")
@pytest.mark.parametrize(
    ("args", "kept"),
    [
        (["-e", f"TOKEN={CANARY}"], ["-e", "TOKEN=${TOOLCRIB_IT_ARGS_1}"]),
        (["-H", f"Authorization: Bearer {CANARY}"], ["-H", "Authorization: Bearer ${TOOLCRIB_IT_ARGS_1}"]),
        ([f"--password={CANARY}"], ["--password=${TOOLCRIB_IT_ARGS_0}"]),
        ([f"-p{CANARY}"], ["-p${TOOLCRIB_IT_ARGS_0}"]),
        (["-e", "TOKEN=${TOKEN}"], ["-e", "TOKEN=${TOKEN}"]),
        (["-u", f"ada:{CANARY}"], ["-u", "ada:${TOOLCRIB_IT_ARGS_1}"]),
    ],
    ids=["env", "header", "equals", "glued", "variable", "user"],
)
def test_what_says_what_a_secret_is_for_stays(args: list[str], kept: list[str], tmp_path: Path) -> None:
    written, _, _ = imported(tmp_path, {"command": "run", "args": args})

    assert orjson.loads(written)["mcpServers"]["it"]["args"] == kept


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("npx", ["-y", "@modelcontextprotocol/server-filesystem", "/srv/documents"]),
        ("npx", ["-y", "-p", "some-package", "some-command", "--port", "8080"]),
        ("docker", ["run", "-i", "--rm", "-p", "8080:80", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"]),
        ("uvx", ["postgres-mcp", "--access-mode=restricted", "--transport", "stdio"]),
        ("npx", ["mcp-remote", "https://mcp.linear.app/sse", "--auth", "oauth", "--key-file", "./keys/server.pem"]),
        ("server", ["-port", "8080", "-path=/srv", "-p", "9000", "--user", "1000:1000", "-profile", "dev"]),
        ("server", ["https://api.example.com/v1/servers/docs/mcp", "http://127.0.0.1:8080/mcp", "--no-auth"]),
    ],
)
def test_what_is_no_secret_is_written_as_it_was(command: str, args: list[str], tmp_path: Path) -> None:
    written, secrets, _ = imported(tmp_path, {"command": command, "args": args})

    assert orjson.loads(written)["mcpServers"]["it"]["args"] == args
    assert not secrets


@pytest.mark.parametrize(
    "url",
    ["https://mcp.linear.app/sse", "https://api.githubcopilot.com/mcp/", "http://localhost:3000/v2/acme-docs/mcp"],
)
def test_an_ordinary_url_is_written_as_it_was(url: str, tmp_path: Path) -> None:
    written, secrets, _ = imported(tmp_path, {"url": url})

    assert orjson.loads(written)["mcpServers"]["it"]["url"] == url
    assert not secrets
