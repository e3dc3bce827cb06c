"""Every block of the documentation does what the documentation says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checks.workspace import ROOT, find_packages
from tests.docs.fenced_blocks import problems, read_blocks

_PLACES = ("*.md", "docs/**/*.md", "examples/*.md", "packages/**/README.md")
DOCUMENTS = sorted(path for place in _PLACES for path in ROOT.glob(place))


@pytest.fixture(autouse=True)
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader has it: the environment is active, and what an example keeps is not kept for who runs the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_blocks_of_a_document_do_what_it_shows(document: Path) -> None:
    assert problems(document.read_text("utf-8")) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_output_that_is_left_out_is_marked_with_an_ellipsis(document: Path) -> None:
    sessions = [block for block in read_blocks(document.read_text("utf-8")) if block.language == "console"]

    dotted = [
        line for block in sessions for line in block.text.splitlines() if not line.startswith("$ ") and "..." in line
    ]

    assert dotted == [], "write `…` for output that the page does not show"


@pytest.mark.req("CT-14", "D1-2o", "D1-3r", "D1-4i", "D1-6h")
@pytest.mark.parametrize(
    ("page", "topic", "shown"),
    [
        ("core.md", "The JSON Schema draft", ["2020-12", "draft-04"]),
        ("core.md", "Escaping", ["encodeURIComponent", "ToolId", "%3A"]),
        ("core.md", "Aliases", ["add_alias", "max_alias_depth", "AliasError"]),
        ("core.md", "Deprecation", ["ToolLifecycle", "replaced_by", "allow_deprecated", "RegistryWarning"]),
        ("core.md", "The context of a call", ["ToolContext", "run_id", "Logger", "Tracer", "RuntimeToolContext"]),
        ("runtime.md", "The context of a call", ["ToolContext", "RuntimeToolContext", "tool_call", "cancellation"]),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else None,
)
def test_the_guide_has_a_section_with_an_example_on(page: str, topic: str, shown: list[str]) -> None:
    sections = re.split(r"^#{2,3} ", (ROOT / "docs/guide" / page).read_text("utf-8"), flags=re.MULTILINE)
    (section,) = [each for each in sections if each.startswith(f"{topic}\n")]

    assert [word for word in shown if word not in section] == []
    assert "python" in {block.language for block in read_blocks(section)}


@pytest.mark.req("D1-1m", "D1-9d", "D1-11b")
@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("concepts.md", ["## The packages", "`toolcrib-core`", "`toolcrib-runtime`", "`toolcrib-openai`"]),
        ("migration.md", ["from toolcrib import", "from toolcrib.core import", "from toolcrib.runtime import"]),
        ("guide/core.md", ["from toolcrib_core import"]),
        ("guide/runtime.md", ["from toolcrib_runtime import"]),
        ("guide/providers.md", ["from toolcrib_openai import", "from toolcrib_core import"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_page_explains(page: str, shown: list[str]) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8")

    assert [each for each in shown if each not in text] == []


@pytest.mark.req("D1-12b")
def test_every_package_has_a_readme() -> None:
    assert [each.name for each in find_packages() if not (each.folder / "README.md").is_file()] == []


def test_blocks_are_found_with_their_language_and_line() -> None:
    blocks = read_blocks("# Title\n\n```python\nx = 1\n```\n\n- item\n\n  ```text\n  1\n  ```\n")

    assert [(block.language, block.text, block.line) for block in blocks] == [
        ("python", "x = 1\n", 3),
        ("text", "1\n", 9),
    ]


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("```python\nx = 1\n```\n```python\nprint(x)\n```\n```text\n1\n```\n", id="a shared namespace"),
        pytest.param("```python\nprint(2)\n```\n```json\n3\n```\n", id="no output shown"),
        pytest.param("```console\n$ echo one && echo two\none\n…\n$ echo three\nthree\n```\n", id="a session"),
        pytest.param("```bash\nfor x in 1 2; do echo $x; done\n```\n", id="a shell script"),
    ],
)
def test_an_honest_document_has_no_problem(markdown: str) -> None:
    assert problems(markdown) == []


def test_what_a_command_leaves_running_ends_with_the_document(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    start = f"$ (echo $BASHPID > {note}; exec sleep 300) > {tmp_path}/log 2>&1 &"
    page = f"```console\n{start}\n$ until test -s {note}; do :; done\n```\n"

    assert problems(page) == []
    run = subprocess.run(["tail", "--pid", note.read_text().strip(), "-f", os.devnull], check=False, timeout=60)
    assert run.returncode == 0


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("```python\nprint(1)\n```\n```text\n2\n```\n", id="another output"),
        pytest.param("```python\nprint(1)\n```\n```text\n1\n2\n```\n", id="a line too many"),
        pytest.param("```python\n1 / 0\n```\n", id="an exception"),
        pytest.param("```python\nx =\n```\n", id="not Python"),
        pytest.param("```python\nimport warnings; warnings.warn('old')\n```\n", id="a warning"),
        pytest.param("```console\n$ echo one\ntwo\n```\n", id="another answer"),
        pytest.param("```console\n$ no-such-command\n```\n", id="an unknown command"),
        pytest.param("```bash\nif then\n```\n", id="not bash"),
    ],
)
def test_a_document_that_is_wrong_is_found(markdown: str) -> None:
    assert len(problems(markdown)) == 1


_PACK = (ROOT / "packages/toolpacks/src/toolcrib_toolpacks/examples/word_count.tool.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param('```json\n{"a": 1}\n```\n', id="plain JSON"),
        pytest.param(
            '```json\n// note\n{"mcpServers": {"a": {"command": "x", "env": {"K": "${K}"}}},}\n```\n', id="servers"
        ),
        pytest.param('```json\n{"servers": {"a": {"command": "x", "env": {"K": "${input:k}"}}}}\n```\n', id="VS Code"),
        pytest.param('```toml\nmode = "proxy"\n[servers.a]\ntimeout = 3\n```\n', id="settings"),
        pytest.param(f"```yaml\n{_PACK}```\n", id="a pack"),
        pytest.param(
            '```python title="a.py"\nX = 1\n```\n```python\nimport a; print(a.X)\n```\n```text\n1\n```\n'
            "```console\n$ ls *.py\na.py\n```\n",
            id="files of the reader",
        ),
    ],
)
def test_data_and_files_that_are_right_are_no_problem(markdown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "a", raising=False)

    assert problems(markdown) == []


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param('```json\n{"a": }\n```\n', id="not JSON"),
        pytest.param('```json\n{"mcpServers": {"a": {"comand": "x"}}}\n```\n', id="a server that cannot be used"),
        pytest.param(
            '```json\n{"mcpServers": {"a": {"command": "x"}}, "toolcrib": {"mod": 1}}\n```\n', id="no setting"
        ),
        pytest.param("```toml\ncolour = 1\n```\n", id="not a setting"),
        pytest.param("```yaml\na: [\n```\n", id="not YAML"),
        pytest.param(f"```yaml\n{_PACK.replace('timeoutMs', 'timeout_ms')}```\n", id="not a pack"),
        pytest.param('```python title="a.py"\nx =\n```\n', id="a file that is not Python"),
    ],
)
def test_data_and_files_that_are_wrong_are_found(markdown: str) -> None:
    assert len(problems(markdown)) == 1
