"""What nothing uses is found, and what only tests use; what is exported, or used by a framework, is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.dead_code import unused

SETTINGS = '[tool.vulture]\nignore_names = ["hook_*"]\nignore_decorators = ["@*.command"]\n'
MODULE = "packages/core/src/toolcrib_core/module.py"


def _write(root: Path, files: dict[str, str]) -> None:
    for name, content in {"pyproject.toml": SETTINGS, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("def planted(): ...", "function `planted`"),
        ("class Planted: ...", "class `Planted`"),
        ("PLANTED = 1", "variable `PLANTED`"),
        ("class Used:\n    planted: int\nUsed()", "variable `planted`"),
        ("class Used:\n    def planted(self): ...\nUsed()", "method `planted`"),
        ("class Used:\n    def used(self):\n        self.planted = 1\nUsed().used()", "attribute `planted`"),
    ],
)
def test_what_nothing_uses_is_told_with_its_place(tmp_path: Path, planted: str, told: str) -> None:
    _write(tmp_path, {MODULE: planted})

    (finding,) = unused(tmp_path)

    assert finding.startswith(f"{MODULE}:")
    assert finding.endswith(f": nothing uses the {told}")


def test_behaviour_that_only_tests_use_is_told(tmp_path: Path) -> None:
    _write(tmp_path, {MODULE: "def planted(): ...", "packages/core/tests/test_module.py": "planted()"})

    assert unused(tmp_path) == [f"{MODULE}:1: only tests use the function `planted`"]


@pytest.mark.parametrize(
    "user",
    ["packages/cli/src/toolcrib_cli/app.py", "packages/adapters/openai/src/face.py", "bench/core.py", "examples/a.py"],
)
def test_what_another_package_a_bench_or_an_example_uses_is_used(tmp_path: Path, user: str) -> None:
    _write(tmp_path, {MODULE: "def planted(): ...", user: "planted()"})

    assert unused(tmp_path) == []


def test_what_a_package_exports_is_used_by_whoever_installs_it(tmp_path: Path) -> None:
    surface = "class Planted()\n    async def method(self) -> None\n    property value: int\n    field: int = 0\n"
    members = "    field: int = 0\n    async def method(self): ...\n    @property\n    def value(self): ..."
    _write(tmp_path, {MODULE: f"class Planted:\n{members}", "tests/architecture/api/toolcrib_core.txt": surface})

    assert unused(tmp_path) == []


@pytest.mark.parametrize(
    "content",
    [
        "@app.command()\ndef planted(): ...",
        "def hook_planted(): ...",
        "class Choice(StrEnum):\n    PLANTED = 'planted'\nChoice('planted')",
        "class Options(TypedDict):\n    planted: int\nOptions(**{'planted': 1})",
    ],
)
def test_what_a_framework_calls_or_a_value_names_is_used(tmp_path: Path, content: str) -> None:
    _write(tmp_path, {MODULE: content})

    assert unused(tmp_path) == []


def test_what_is_published_for_tests_may_be_used_by_tests_alone(tmp_path: Path) -> None:
    kit = "packages/runtime/src/toolcrib_runtime/testing/clock.py"
    _write(tmp_path, {kit: "def planted(): ...", "packages/runtime/tests/test_clock.py": "planted()"})

    assert unused(tmp_path) == []
