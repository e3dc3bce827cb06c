"""What real programs print, and the kind that it is recognised as."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolcrib_mcp
from toolcrib_mcp.firewall import ContentKind, content_kind, selectors_for, summarise

pytestmark = pytest.mark.req("CL-6")

_COMMITS = 12


def output_of(*command: str, folder: Path | None = None) -> bytes:
    program = shutil.which(command[0])
    if program is None:
        pytest.skip(f"`{command[0]}` is not installed")
    return subprocess.run([program, *command[1:]], cwd=folder, capture_output=True, check=True).stdout


def git(folder: Path, *arguments: str) -> bytes:
    settings = ("user.name=Ann Example", "user.email=ann@example.com", "commit.gpgsign=false", "core.pager=cat")
    return output_of("git", *(part for each in settings for part in ("-c", each)), *arguments, folder=folder)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    git(folder, "init", "-q", "-b", "main")
    for number in range(_COMMITS):
        lines = [f"setting_{line}: value {line * number}\n" for line in range(200)]
        (folder / f"file{number % 3}.yaml").write_text("".join(lines), encoding="utf-8")
        git(folder, "add", ".")
        body = "Reason: the old values were wrong.\nRefs: #12\n\n- one\n- two" if number % 2 else "It is simpler."
        git(folder, "commit", "-q", "-m", f"fix(parser): Change part {number}", "-m", body)
    (folder / "file0.yaml").write_text("setting_0: another value\n", encoding="utf-8")
    (folder / "new.txt").write_text("new\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--oneline",),
        ("--oneline", "--graph", "--decorate"),
        ("--graph",),
        ("--stat",),
        ("-p",),
        ("--format=fuller",),
        ("--format=short",),
        ("--format=%h %s",),
        ("--date=iso", "--name-status"),
    ],
    ids=" ".join,
)
def test_the_formats_of_git_log_are_histories_with_every_commit_counted(repository: Path, options: tuple[str]) -> None:
    content = git(repository, "log", *options)

    summary = summarise(content, content_kind(content))

    assert content_kind(content) is ContentKind.LOG
    assert summary.facts["commits"] == _COMMITS
    assert "Change part 11" in summary.text
    assert '"type":"lines","start":1' in selectors_for(ContentKind.LOG, summary.facts, "art_a")


def test_commits_as_servers_print_them_are_a_history() -> None:
    # The reference server for git.
    entries = [
        f"Commit: '{number:040x}'\nAuthor: <git.Actor \"Ann <ann@example.com>\">\n"
        f"Date: 2025-03-{number:02} 10:00:00+00:00\nMessage: 'Change part {number}\\n'\n"
        for number in range(1, 20)
    ]
    content = ("Commit history:\n" + "\n".join(entries)).encode()

    summary = summarise(content, content_kind(content))

    assert summary.text.startswith("Commit history of 19 commits by 1 author, ")
    assert "2025-03-01 10:00:00+00:00 Change part 1" in summary.text


@pytest.mark.parametrize("before", [b"", b"Unstaged changes:\n"])
@pytest.mark.parametrize("arguments", [("diff",), ("diff", "--stat", "-p"), ("show", "HEAD~1")], ids=" ".join)
def test_diffs_are_diffs_however_few_of_their_lines_are_marks(
    repository: Path, before: bytes, arguments: tuple[str]
) -> None:
    content = before + git(repository, *arguments)

    summary = summarise(content, content_kind(content))

    assert content_kind(content) is ContentKind.CODE
    assert summary.facts["language"] == "diff"
    assert summary.facts["files"] == 1


def test_a_diff_of_files_outside_a_repository_is_a_diff(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One\n\nText.\n" * 50, encoding="utf-8")
    (tmp_path / "b.md").write_text("# Two\n\nText.\n" * 50, encoding="utf-8")
    diff = shutil.which("diff") or pytest.skip("`diff` is not installed")

    content = subprocess.run([diff, "-u", "a.md", "b.md"], cwd=tmp_path, capture_output=True, check=False).stdout

    assert summarise(content, content_kind(content)).facts["language"] == "diff"


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("ls", "-l", "/usr/bin"), ContentKind.PROSE),
        (("ls", "-la", "/etc"), ContentKind.PROSE),
        (("ps", "aux"), ContentKind.PROSE),
        (("df", "-h"), ContentKind.PROSE),
        (("uname", "-a"), ContentKind.PROSE),
        (("env", "-i", "A=1", "PATH=/bin:/usr/bin", "HOME=/root", "LANG=C", "env"), ContentKind.CODE),
        (("git", "--help"), ContentKind.PROSE),
    ],
    ids=" ".join,
)
def test_lists_of_the_system_are_lines_of_text(command: tuple[str, ...], kind: ContentKind) -> None:
    assert content_kind(output_of(*command)) is kind


def test_the_status_of_a_repository_is_text(repository: Path) -> None:
    for options in ((), ("--short",), ("--porcelain=v2", "--branch")):
        assert content_kind(git(repository, "status", *options)) is ContentKind.PROSE


def test_variables_of_the_environment_are_listed_by_name() -> None:
    content = output_of("env", "-i", "A=1", "PATH=/bin:/usr/bin", "HOME=/root", "LANG=C", "env")

    assert summarise(content, content_kind(content)).text.startswith("Environment variables, 4 lines")


def test_the_traceback_of_a_program_is_read_from_its_end() -> None:
    program = "import json\ndef load(text):\n    return json.loads(text)\nload('{')\n"
    content = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).stderr

    assert content_kind(content) is ContentKind.LOG
    summary = summarise(content, ContentKind.LOG)
    assert "JSONDecodeError" in summary.text
    assert '"type":"tail"' in selectors_for(ContentKind.LOG, summary.facts, "art_a")


PIP_LIST = b"Package         Version\n--------------- -------\n" + b"".join(
    b"package%-9d1.%d.0\n" % (number, number) for number in range(40)
)
DOCKER_PS = (
    b"CONTAINER ID   IMAGE          COMMAND                  CREATED         STATUS         PORTS      NAMES\n"
    b'4f1a9d2c7b10   postgres:16    "docker-entrypoint.s..."  2 hours ago     Up 2 hours     5432/tcp   db\n'
    b'9c0e8f7a6b5d   redis:7        "docker-entrypoint.s..."  2 hours ago     Up 2 hours     6379/tcp   cache\n'
)
MAIL = (
    b"From: Ann Example <ann@example.com>\nTo: Ben <ben@example.com>\nSubject: Release on Friday\n"
    b"Date: Wed, 5 Mar 2025 10:00:00 +0000\nMessage-ID: <1@example.com>\nContent-Type: text/plain\n"
)
MAIL_TEXT = b"\nHello Ben,\n\nthe release is ready: please look at it.\n\nNote: the tests pass.\n\nAnn\n"
INI = (
    b"# Settings of the service.\n# See the manual.\n\n[server]\n; where it listens\nport = 80\n"
    b"host = localhost\n\n[log]\n# how much\nlevel = info\n"
)
TOML = b'# The project.\n[project]\nname = "parser"\nversion = "1.0"\n\n# What it needs.\n[tool.uv]\ndev = true\n'
DOTENV = b"# Database\n# (local)\nDB_HOST=localhost\nDB_PORT=5432\n\n# Mail\nSMTP_URL=smtp://localhost\nDEBUG=1\n"
SSHD = (
    b"# This is the server's configuration.\n# See sshd_config(5).\n\n# Ports\nPort 22\n# Addresses\n"
    b"AddressFamily any\n#ListenAddress ::\nPermitRootLogin no\n\n# Logging\nLogLevel INFO\n"
)
CRON = (
    b"# m h dom mon dow command\n\n# Backups at night\n0 5 * * 1 tar -zcf /var/backups/home.tgz /home/\n"
    b"# Mails\n*/5 * * * * fetchmail\n"
)
BASH = (
    b"#!/usr/bin/env bash\n# Builds the site.\n#\n# Usage: build [FOLDER]\n\n# Where to\nfolder=${1:-site}\n"
    b'mkdir -p "$folder"\n\n# All pages\nfor page in pages/*; do\n  render "$page"\ndone\n'
)
PYTHON = (
    b"#!/usr/bin/env python3\n# Counts words.\n\n# Words by file\nimport sys\n\n# Each file\n"
    b"for name in sys.argv[1:]:\n    print(name, len(open(name).read().split()))\n"
)
PERL = b"#!/usr/bin/perl -w\n# Prints.\nuse strict;\nprint 'a';\n"
COMMENTED_PYTHON = (
    b"# Copyright\n# Licence\n\nimport os\nfrom pathlib import Path\n\n"
    + b"# The folder\nFOLDER = Path('.')\n\n\n# Lists files.\ndef files() -> list[str]:\n"
    b"    return os.listdir(FOLDER)\n\n" * 6
)
MAKEFILE = b"# Build\nall: main.o\n\tcc -o main main.o\n\nmain.o: main.c\n\tcc -c main.c\n\nclean:\n\trm -f main.o\n"
KUBERNETES = (
    b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  labels:\n    app.kubernetes.io/name: api\n"
    b"data:\n  run.sh: |\n    # not YAML\n    echo this is: a script, that prints.\n    exit 0\n  mode: fast\n---\n"
    b"apiVersion: v1\nkind: Service\nmetadata:\n  name: api\nspec:\n  ports:\n    - port: 80\n      protocol: TCP\n"
)
WORKFLOW = (
    b"# Runs the tests.\nname: Tests\n\non:\n  push:\n    branches: [main]\n\njobs:\n  test:\n"
    b"    runs-on: ubuntu-latest\n"
    b"    steps:\n      - uses: actions/checkout@v4\n      - name: Run the tests of every package\n        run: |\n"
    b"          pip install .\n          pytest\n"
)
ANSIBLE = b"- hosts: all\n  become: true\n  tasks:\n    - name: Install\n      apt:\n        name: nginx\n"
README = (
    b"# Parser\n\nReads files.\n\n## Install\n\n```sh\n# first\npip install parser\nexport A=1\nset -e\n```\n\n"
    b"## Settings\n\n```yaml\nname: a\nlist:\n  - b\n```\n\nThat is all.\n"
)
PLAIN_MARKDOWN = b"# Notes\n\nSome text.\n\n## Monday\n\n- one thing\n- another thing\n\n## Tuesday\n\nMore text.\n"
MARKDOWN_WITH_DIFF = (
    b"# Change\n\nThis is it:\n\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n\n## Why\n\nBecause.\n"
)
CSV = b"id,name,price\n" + b"".join(b"%d,name %d,%d.5\n" % (n, n, n) for n in range(20))
HTML = b"<!DOCTYPE html>\n<html><head><title>A</title></head><body><h1>A</h1></body></html>\n"
JSON_LINES = b'{"a": 1}\n{"a": 2}\n{"a": 3}\n'
PLAIN_LOG = b"2025-03-05 10:00:00 starting\n2025-03-05 10:00:01 note: all is well\n2025-03-05 10:00:02 done\n"
DESCRIPTION = (
    b"Name:         api-1\nNamespace:    default\nPriority:     0\nNode:         node-1/10.0.0.1\n"
    b"Start Time:   Wed, 05 Mar 2025\nStatus:       Running\nIP:           10.1.0.1\n"
)
COOKING = (
    b"Ingredients:\n- flour\n- two eggs\n- a cup of milk\nMethod:\n- Mix it well.\n"
    b"- Bake it for an hour.\nNote: it keeps for a week.\n"
)


@pytest.mark.parametrize(
    ("content", "kind", "language"),
    [
        (PIP_LIST, ContentKind.PROSE, None),
        (DOCKER_PS, ContentKind.PROSE, None),
        (MAIL, ContentKind.PROSE, None),
        (MAIL + MAIL_TEXT, ContentKind.PROSE, None),
        (DESCRIPTION, ContentKind.PROSE, None),
        (COOKING, ContentKind.PROSE, None),
        (SSHD, ContentKind.PROSE, None),
        (CRON, ContentKind.PROSE, None),
        (INI, ContentKind.CODE, "toml"),
        (TOML, ContentKind.CODE, "toml"),
        (DOTENV, ContentKind.CODE, "env"),
        (BASH, ContentKind.CODE, "shell"),
        (PYTHON, ContentKind.CODE, "python"),
        (PERL, ContentKind.CODE, "unknown"),
        (b"#! /bin/false\nnothing\n", ContentKind.CODE, "unknown"),
        (COMMENTED_PYTHON, ContentKind.CODE, "python"),
        (MAKEFILE, ContentKind.PROSE, None),
        (KUBERNETES, ContentKind.CODE, "yaml"),
        (WORKFLOW, ContentKind.CODE, "yaml"),
        (ANSIBLE, ContentKind.CODE, "yaml"),
        (b"---\na: 1\nb: 2\nc: 3\n", ContentKind.CODE, "yaml"),
        (README, ContentKind.MARKUP, None),
        (PLAIN_MARKDOWN, ContentKind.MARKUP, None),
        (MARKDOWN_WITH_DIFF, ContentKind.MARKUP, None),
        (CSV, ContentKind.TABLE, None),
        (CSV.replace(b",", b"\t"), ContentKind.TABLE, None),
        (HTML, ContentKind.MARKUP, None),
        (JSON_LINES, ContentKind.LOG, None),
        (PLAIN_LOG, ContentKind.LOG, None),
    ],
)
def test_files_and_lists_are_what_they_are(content: bytes, kind: ContentKind, language: str | None) -> None:
    assert content_kind(content) is kind
    assert summarise(content, kind).facts.get("language") == language
    assert content_kind(content.replace(b"\n", b"\r\n")) is kind


def test_modules_of_this_package_are_python_and_never_settings_or_markdown() -> None:
    modules = [each for each in Path(str(toolcrib_mcp.__file__)).parent.rglob("*.py") if each.stat().st_size > 2_000]
    languages = Counter(
        summarise(content, content_kind(content)).facts.get("language", content_kind(content))
        for content in map(Path.read_bytes, modules)
    )

    # A module may be a list of words, which is prose to anybody who does not know its name.
    assert set(languages) <= {"python", ContentKind.PROSE}
    assert languages["python"] >= 0.95 * len(modules)


_WORDS = st.sampled_from("the a note release we have and then it was read by of in plan work Monday Ann all".split())
_SENTENCES = st.builds(
    lambda words, end: f"{' '.join(words).capitalize()}{end}",
    st.lists(_WORDS, min_size=4, max_size=14),
    st.sampled_from([".", "!", "?"]),
)
_LABELS = st.sampled_from(["Note", "Decision", "Open points", "Next", "Subject", "From", "todo", "re"])
_PROSE_LINES: list[Callable[[], st.SearchStrategy[str]]] = [
    lambda: _SENTENCES,
    lambda: st.builds(lambda label, rest: f"{label}: {rest}", _LABELS, _SENTENCES),
    lambda: _LABELS.map("{}:".format),
    lambda: _SENTENCES.map("- {}".format),
    lambda: _SENTENCES.map("  {}".format),
    lambda: st.just(""),
]


@given(lines=st.lists(st.one_of([each() for each in _PROSE_LINES]), max_size=40))
def test_prose_is_never_yaml(lines: list[str]) -> None:
    content = "\n".join(lines).encode()

    assert summarise(content, content_kind(content)).facts.get("language") != "yaml"
