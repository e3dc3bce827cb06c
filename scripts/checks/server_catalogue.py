"""The real servers that `scripts/servers` compares: how each is started, and a safe call of each.

None of them reaches a network: services get credentials that are not real and a proxy that is not there, so that each
gives the same error on every machine. Whatever a server writes stays in the folder of the fixtures.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from checks.real_servers import Part, node_of, read_parts
from checks.server_fixtures import Fixtures
from checks.stdio_client import ServerCommand

CHROMIUM: Final = Path("/usr/bin/chromium")
_NOWHERE: Final = "127.0.0.1:9"
_OFFLINE: Final = {
    "HTTP_PROXY": f"http://{_NOWHERE}",
    "HTTPS_PROXY": f"http://{_NOWHERE}",
    "NO_PROXY": "127.0.0.1,localhost",
    "NODE_USE_ENV_PROXY": "1",
}
_JIRA_FIELD: Final = "(assignee|created|description|issuetype|labels|priority|reporter|status|summary|updated|versions)"
_JIRA_FIELDS: Final = rf"\b{_JIRA_FIELD}(,{_JIRA_FIELD})+"


class Unavailable(Exception):
    """A server cannot run on this machine; the message says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of one tool."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    holds: str
    """What stands in its answer, or in the error that it gives."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A part with its arguments and environment, and the calls whose answers are compared."""

    name: str
    """Of its part."""
    calls: tuple[Call, ...]
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    script: str | None = None
    """The program of a Python part, where it is not called as its distribution."""
    volatile: tuple[tuple[str, str], ...] = ()
    """Patterns of what differs between two runs of the same server, each with what stands in its place."""
    starts: int = 1
    """How often it is started through toolcrib, one after the other, with all tools expected each time."""
    program: Path | None = None
    """A program of the machine that it needs."""

    def command(self, fixtures: Fixtures, parts: Mapping[str, Part] | None = None) -> ServerCommand:
        """How it is started.

        Raises:
            Unavailable: It, Node or the program that it needs is not installed.
        """
        parts = read_parts() if parts is None else parts
        part = _installed(parts[self.name])
        if self.program is not None and not self.program.is_file():
            raise Unavailable(f"`{self.program}` is not installed")
        environment = {**_OFFLINE, **self.environment}
        if part.kind == "python":
            distribution = part.pin["requirements"][0].partition("==")[0]
            program, arguments = str(part.folder / "bin" / (self.script or distribution)), self.arguments
        else:
            program = str(node_of(_installed(parts["node"]).folder))
            arguments = (str(_entry_point(part)), *self.arguments)
        return ServerCommand(program=program, arguments=arguments, environment=environment, folder=fixtures.folder)


def read_catalogue(fixtures: Fixtures) -> tuple[Server, ...]:
    """All servers, over these fixtures."""
    return (*_reference(fixtures), *_browsers(fixtures), *_local(fixtures), *_services(fixtures))


def select_servers(names: Iterable[str], servers: tuple[Server, ...]) -> tuple[Server, ...]:
    """Those with these names, all without any.

    Raises:
        ValueError: No server has this name.
    """
    wanted = set(names)
    unknown = wanted - {each.name for each in servers}
    if unknown:
        raise ValueError(f"no server is named {', '.join(f'`{each}`' for each in sorted(unknown))}")
    return tuple(each for each in servers if not wanted or each.name in wanted)


def _reference(fixtures: Fixtures) -> tuple[Server, ...]:
    folder = fixtures.folder
    hours = {"source_timezone": "Etc/UTC", "time": "16:30", "target_timezone": "Asia/Tokyo"}
    thought = {"thought": "herons", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    note = str(folder / "files" / "note.txt")
    return (
        Server(
            name="everything",
            arguments=("stdio",),
            calls=(Call(tool="get-sum", arguments={"a": 2, "b": 3}, holds="is 5"),),
        ),
        Server(
            name="filesystem",
            arguments=(str(folder / "files"),),
            calls=(Call(tool="read_text_file", arguments={"path": note}, holds="heron"),),
        ),
        Server(
            name="memory",
            environment={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
            calls=(Call(tool="search_nodes", arguments={"query": "bird"}, holds="heron"),),
        ),
        Server(
            name="sequential-thinking",
            calls=(Call(tool="sequentialthinking", arguments=thought, holds="thoughtNumber"),),
        ),
        Server(
            name="git",
            calls=(Call(tool="git_log", arguments={"repo_path": str(folder / "repo")}, holds="Dig the pond"),),
        ),
        Server(
            name="time",
            arguments=("--local-timezone", "Etc/UTC"),
            calls=(Call(tool="convert_time", arguments=hours, holds="01:30"),),
        ),
        Server(
            name="fetch",
            arguments=("--ignore-robots-txt", "--allow-private-ips"),
            calls=(Call(tool="fetch", arguments={"url": fixtures.page}, holds="heron"),),
        ),
        Server(
            name="sqlite",
            arguments=("--db-path", str(folder / "birds.db")),
            calls=(Call(tool="read_query", arguments={"query": "SELECT sum(number) FROM sightings"}, holds="1997"),),
        ),
    )


def _browsers(fixtures: Fixtures) -> tuple[Server, ...]:
    program = str(CHROMIUM)
    return (
        Server(
            name="playwright",
            arguments=(
                *("--browser", "chromium", "--executable-path", program),
                *("--headless", "--no-sandbox", "--isolated"),
            ),
            environment={"NO_PROXY": "*"},
            calls=(
                Call(tool="browser_navigate", arguments={"url": fixtures.pond}, holds="Pond"),
                Call(tool="browser_snapshot", holds="Birds of the pond"),
            ),
            volatile=((r"page-[0-9TZ-]+\.yml", "page-….yml"),),
            program=CHROMIUM,
        ),
        Server(
            name="chrome-devtools",
            arguments=(
                *("--executablePath", program, "--headless", "--isolated", "--chromeArg=--no-sandbox"),
                "--no-usage-statistics",
            ),
            environment={"NO_PROXY": "*", "CI": "true"},
            calls=(
                Call(tool="navigate_page", arguments={"pageId": 1, "type": "url", "url": fixtures.pond}, holds="Pond"),
                Call(tool="take_snapshot", arguments={"pageId": 1}, holds="Birds of the pond"),
            ),
            program=CHROMIUM,
        ),
    )


def _local(fixtures: Fixtures) -> tuple[Server, ...]:
    """What works without any service."""
    folder = fixtures.folder
    report = (folder / "files" / "report.html").as_uri()
    contents = {"contents": "# Heron", "input_format": "markdown", "output_format": "html"}
    question = {"sql": f"SELECT max(count) FROM '{folder / 'files' / 'sheet.csv'}'"}  # noqa: S608  # our own file
    sightings = {"query": "SELECT count(*) FROM sightings"}
    workbook = str(folder / "files" / "birds.xlsx")
    return (
        Server(
            name="obsidian",
            arguments=(str(folder / "vault"),),
            calls=(Call(tool="search_notes", arguments={"query": "heron"}, holds="heron.md"),),
        ),
        Server(
            name="excel",
            arguments=("stdio",),
            environment={"EXCEL_FILES_PATH": str(folder / "files")},
            calls=(Call(tool="describe_workbook", arguments={"path": workbook}, holds="A1:C181"),),
        ),
        Server(
            name="markitdown", calls=(Call(tool="convert_to_markdown", arguments={"uri": report}, holds="**seven**"),)
        ),
        Server(name="pandoc", calls=(Call(tool="convert-contents", arguments=contents, holds="html"),)),
        Server(name="calculator", calls=(Call(tool="calculate", arguments={"expression": "6 * 7"}, holds="42"),)),
        Server(
            name="duckdb",
            arguments=("--db-path", ":memory:", "--read-write"),
            calls=(
                Call(tool="execute_query", arguments=question, holds="22"),
                Call(tool="list_tables", holds="tableCount"),
            ),
        ),
        Server(
            name="alchemy",
            environment={"DB_URL": f"sqlite:///{folder / 'birds.db'}"},
            calls=(
                Call(tool="all_table_names", holds="sightings"),
                Call(tool="execute_query", arguments=sightings, holds="180"),
            ),
        ),
        Server(
            name="word",
            script="word_mcp_server",
            calls=(
                Call(
                    tool="list_available_documents",
                    arguments={"directory": str(folder / "files")},
                    holds="No Word documents",
                ),
            ),
        ),
        Server(
            name="arxiv",
            arguments=("--storage-path", str(folder / "papers")),
            calls=(Call(tool="list_papers", holds="total_papers"),),
        ),
    )


def _services(fixtures: Fixtures) -> tuple[Server, ...]:
    """What speaks for a service, which is not there."""
    nowhere = f"http://{_NOWHERE}"
    question = {"query": "heron"}
    jira = {"JIRA_URL": nowhere, "JIRA_PERSONAL_TOKEN": "none"}
    confluence = {"CONFLUENCE_URL": nowhere, "CONFLUENCE_PERSONAL_TOKEN": "none"}
    pods = {"resourceType": "pods", "namespace": "default"}
    manual = {"url": "https://docs.aws.amazon.com/lambda/latest/dg/welcome.html"}
    return (
        Server(
            name="atlassian",
            environment={**jira, **confluence},
            calls=(Call(tool="jira_search", arguments={"jql": "project = POND"}, holds="Connection refused"),),
            volatile=((_JIRA_FIELDS, "FIELDS"),),  # a set of Python, so in another order in each process
            starts=10,
        ),
        Server(
            name="notion",
            environment={"NOTION_TOKEN": "ntn_none"},
            calls=(Call(tool="API-get-self", holds="ECONNREFUSED"),),
        ),
        Server(
            name="github",
            environment={"GITHUB_PERSONAL_ACCESS_TOKEN": "none"},
            calls=(Call(tool="search_repositories", arguments=question, holds="fetch failed"),),
        ),
        Server(
            name="gitlab",
            environment={"GITLAB_PERSONAL_ACCESS_TOKEN": "none", "GITLAB_API_URL": f"{nowhere}/api/v4"},
            calls=(Call(tool="search_repositories", arguments={"search": "heron"}, holds="ECONNREFUSED"),),
        ),
        Server(
            name="slack",
            environment={"SLACK_BOT_TOKEN": "xoxb-none", "SLACK_TEAM_ID": "T0"},
            calls=(Call(tool="slack_list_channels", holds="fetch failed"),),
        ),
        Server(
            name="postgres",
            arguments=(f"postgresql://{_NOWHERE}/birds",),
            calls=(Call(tool="query", arguments={"sql": "SELECT 1"}, holds="ECONNREFUSED"),),
        ),
        Server(
            name="brave-search",
            environment={"BRAVE_API_KEY": "none"},
            calls=(Call(tool="brave_web_search", arguments=question, holds="fetch failed"),),
        ),
        Server(
            name="context7",
            calls=(
                Call(tool="resolve-library-id", arguments={**question, "libraryName": "heron"}, holds="fetch failed"),
            ),
        ),
        Server(
            name="sentry",
            arguments=("--access-token=none", "--host=localhost"),
            calls=(Call(tool="whoami", holds="onnection"),),
        ),
        Server(
            name="kubernetes",
            environment={"KUBECONFIG": str(fixtures.folder / "kubeconfig")},
            calls=(Call(tool="kubectl_get", arguments=pods, holds="kubectl"),),
            volatile=((r"E\d{4} [\d:.]+ +\d+ ", "E… "),),
        ),
        Server(
            name="tavily",
            environment={"TAVILY_API_KEY": "tvly-none"},
            calls=(Call(tool="tavily_search", arguments=question, holds="rror"),),
        ),
        Server(
            name="firecrawl",
            environment={"FIRECRAWL_API_URL": nowhere, "FIRECRAWL_API_KEY": "none"},
            calls=(Call(tool="firecrawl_scrape", arguments={"url": fixtures.page}, holds="ECONNREFUSED"),),
        ),
        Server(
            name="airtable", environment={"AIRTABLE_API_KEY": "none"}, calls=(Call(tool="list_bases", holds="failed"),)
        ),
        Server(name="duckduckgo", calls=(Call(tool="search", arguments=question, holds="No results"),)),
        Server(name="aws-documentation", calls=(Call(tool="read_documentation", arguments=manual, holds="rror"),)),
    )


def _installed(part: Part) -> Part:
    if not part.is_installed:
        raise Unavailable(f"`{part.name}` is not installed; `scripts/reference {part.name}` installs it")
    return part


def _entry_point(part: Part) -> Path:
    folder = part.folder / "node_modules" / str(part.pin["package"])
    named = json.loads((folder / "package.json").read_text(encoding="utf-8"))["bin"]
    return folder / (named if isinstance(named, str) else next(iter(named.values())))
