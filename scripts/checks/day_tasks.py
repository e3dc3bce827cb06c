"""The fifteen tasks of `scripts/day`: what a person wants, what an agent searches for, and what it then calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from checks.server_fixtures import Fixtures, log_lines


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call of a tool."""

    tool: str
    """`server:tool`."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """A text `{ref:PATTERN}` stands for what the first group of the pattern finds in the answer before."""
    holds: str
    """What the answer, or the part of it that is viewed, shows."""
    view: Mapping[str, Any] | None = None
    """The selector with which an agent reads a result that is too large to be sent."""
    whole: str | None = None
    """What a client without toolcrib reads, where the answer is too large to be sent."""
    fails: bool = False
    """Whether the tool is to answer with an error: its service is not there."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a person wants, and how an agent gets there."""

    name: str
    question: str
    queries: tuple[str, ...]
    """What the agent searches for; each after the first only where the page before did not show what it needs."""
    steps: tuple[Step, ...]
    answer: str
    """What the agent says at the end."""


def read_tasks(fixtures: Fixtures) -> tuple[Task, ...]:
    """All fifteen, over these fixtures."""
    return (*_code(fixtures), *_data(fixtures), *_pages(fixtures), *_notes(), *_services())


def _code(fixtures: Fixtures) -> tuple[Task, ...]:
    files, repository = fixtures.folder / "files", str(fixtures.folder / "repo")
    log = {"path": str(files / "pond.log")}
    return (
        Task(
            name="git history",
            question=f"When was the weir built? Look into the history of {repository}.",
            queries=("show the commit history of a git repository", "git log"),
            steps=(Step(tool="git:git_log", arguments={"repo_path": repository}, holds="Build the weir"),),
            answer="The weir was built in the last of three commits.",
        ),
        Task(
            name="git change",
            question=f"What did the last commit of {repository} change?",
            queries=("show what a git commit changed", "git show"),
            steps=(
                Step(tool="git:git_show", arguments={"repo_path": repository, "revision": "HEAD"}, holds="weir.txt"),
            ),
            answer="It added weir.txt.",
        ),
        Task(
            name="file search",
            question=f"Which log files are below {files}?",
            queries=("search for files by name", "find files that match a pattern"),
            steps=(
                Step(
                    tool="filesystem:search_files",
                    arguments={"path": str(files), "pattern": "**/*.log"},
                    holds="pond.log",
                ),
            ),
            answer="There is one, pond.log.",
        ),
        Task(
            name="large log",
            question=f"Which errors are in {files / 'pond.log'}?",
            queries=("read a text file", "read the contents of a file"),
            steps=(
                Step(
                    tool="filesystem:read_text_file",
                    arguments=log,
                    holds="gauge 1250",
                    view={"type": "search", "text": "ERROR"},
                    whole="\n".join(log_lines()),
                ),
            ),
            answer="The weir was blocked three times, at gauges 250, 750 and 1250.",
        ),
    )


def _data(fixtures: Fixtures) -> tuple[Task, ...]:
    files = fixtures.folder / "files"
    total = {"query": "SELECT sum(number) AS herons FROM sightings WHERE bird = 'heron'"}
    hours = {"source_timezone": "Europe/Berlin", "time": "16:30", "target_timezone": "Asia/Tokyo"}
    return (
        Task(
            name="database",
            question="How many herons does our SQLite database count in all?",
            queries=("run a SELECT query on the SQLite database", "sqlite read query"),
            steps=(
                Step(tool="sqlite:list_tables", holds="sightings"),
                Step(tool="sqlite:read_query", arguments=total, holds="herons"),
            ),
            answer="330 herons.",
        ),
        Task(
            name="sheet of 181 rows",
            question=f"On which day does the sheet Sightings of {files / 'birds.xlsx'} count the most herons?",
            queries=("read the cells of an Excel sheet", "excel read range"),
            steps=(
                Step(
                    tool="excel:read_range",
                    arguments={"path": str(files / "birds.xlsx"), "sheet": "Sightings"},
                    holds='"heron",22',
                    view={"type": "search", "text": '"heron",22'},
                ),
            ),
            answer="22 herons, more than on any other day.",
        ),
        Task(
            name="time zones",
            question="What time is it in Tokyo when it is half past four in the afternoon in Berlin?",
            queries=("convert a time between time zones",),
            steps=(Step(tool="time:convert_time", arguments=hours, holds="Asia/Tokyo"),),
            answer="Shortly after midnight, on the next day.",
        ),
        Task(
            name="conversion",
            question=f"Convert {files / 'report.html'} to Markdown.",
            queries=("convert a document to Markdown",),
            steps=(
                Step(
                    tool="markitdown:convert_to_markdown",
                    arguments={"uri": (files / "report.html").as_uri()},
                    holds="**seven**",
                ),
            ),
            answer="# Birds of 2026\n\nWe counted **seven** herons.",
        ),
    )


def _pages(fixtures: Fixtures) -> tuple[Task, ...]:
    button = {"element": "Clap", "target": r'{ref:button "Clap" \[ref=(\w+)\]}'}
    return (
        Task(
            name="browser",
            question=f"Open {fixtures.pond} in a browser, press the button, and tell me what happens.",
            queries=("open a web page in the browser and click a button", "browser navigate, snapshot, click"),
            steps=(
                Step(tool="playwright:browser_navigate", arguments={"url": fixtures.pond}, holds="Pond"),
                Step(tool="playwright:browser_snapshot", holds="A heron waits"),
                Step(tool="playwright:browser_click", arguments=button, holds="click"),
                Step(tool="playwright:browser_snapshot", holds="The heron flew."),
            ),
            answer="The heron flew.",
        ),
        Task(
            name="fetch",
            question=f"What does the page {fixtures.page} say?",
            queries=("fetch the contents of a URL",),
            steps=(Step(tool="fetch:fetch", arguments={"url": fixtures.page}, holds="says: heron"),),
            answer="It says: heron.",
        ),
    )


def _notes() -> tuple[Task, ...]:
    bird = {"name": "kingfisher", "entityType": "bird", "observations": ["nests in the bank of the pond"]}
    return (
        Task(
            name="remember",
            question="Remember that the kingfisher nests in the bank of the pond.",
            queries=("remember a fact in the knowledge graph", "create entities in the knowledge graph"),
            steps=(Step(tool="memory:create_entities", arguments={"entities": [bird]}, holds=""),),
            answer="I shall remember it.",
        ),
        Task(
            name="recall",
            question="Where does the kingfisher nest? You have a note of it in the knowledge graph.",
            queries=("search the knowledge graph for notes", "search nodes"),
            steps=(Step(tool="memory:search_nodes", arguments={"query": "kingfisher"}, holds="nests in the bank"),),
            answer="In the bank of the pond.",
        ),
        Task(
            name="vault",
            question="Which notes of my Obsidian vault are about herons?",
            queries=("search the notes of the Obsidian vault",),
            steps=(Step(tool="obsidian:search_notes", arguments={"query": "heron"}, holds="heron.md"),),
            answer="One, heron.md.",
        ),
    )


def _services() -> tuple[Task, ...]:
    return (
        Task(
            name="Jira",
            question="List the open issues of the Jira project POND.",
            queries=("search Jira issues with JQL",),
            steps=(
                Step(
                    tool="atlassian:jira_search",
                    arguments={"jql": "project = POND AND status = Open"},
                    holds="Connection refused",
                    fails=True,
                ),
            ),
            answer="Jira cannot be reached: the connection was refused.",
        ),
        Task(
            name="Kubernetes",
            question="Which pods run in the namespace default of our Kubernetes cluster?",
            queries=("list the pods of a Kubernetes cluster", "kubectl get"),
            steps=(
                Step(
                    tool="kubernetes:kubectl_get",
                    arguments={"resourceType": "pods", "namespace": "default"},
                    holds="Failed",
                    fails=True,
                ),
            ),
            answer="The cluster cannot be reached.",
        ),
    )
