"""The tests of the adapters with the oldest and the newest SDK that they allow, in environments of their own.

The newest is that of the lock's moment. With `TOOLCRIB_VENDORS=today` it is the newest that there is.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from checks.workspace import ROOT, find_packages
from tests.environments import failure_of_uv, newest_allowed
from tests.real_parts import real_part_missing

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.req("AD-7", "AD-9")]

_ADAPTERS: Final = {each.name: each for each in find_packages() if each.folder.parent.name == "adapters"}
_SDKS: Final = {
    requirement.name: requirement
    for adapter in _ADAPTERS.values()
    for requirement in map(Requirement, adapter.project["optional-dependencies"]["sdk"])
}
_RESOLUTIONS: Final = {"oldest": "lowest-direct", "newest": "highest"}
_SUITE: Final = ("*_end_to_end.py", "*_calls.py", "*_results.py", "*_choices*.py", "*_server.py")
"""Of the tests of each adapter those in which objects and clients of its SDK take part."""
_SECONDS: Final = 280

# Tests of what the oldest SDKs have no types for; each begins with the path of its file below `packages/adapters`.
_LATER: Final = (
    "openai/tests/test_openai_end_to_end.py::test_a_tool_is_found_loaded_and_called",
    "openai/tests/test_openai_results.py::test_the_caller_of_a_programmatic_call",
    "anthropic/tests/test_anthropic_results.py::test_a_search_of_our_own_loads",
    "anthropic/tests/test_anthropic_choices_and_imports.py::test_tools_can_be_added",
    "gemini/tests/test_gemini_calls.py::test_arguments_that_come_value_by_value",
    "gemini/tests/test_gemini_results.py::test_pictures_and_documents_are_parts",
)


@pytest.mark.parametrize("end", _RESOLUTIONS)
def test_the_adapters_work_with_the_sdks_at_this_end_of_their_ranges(tmp_path: Path, end: str) -> None:
    python = _environment(tmp_path / "v", resolution=_RESOLUTIONS[end])

    versions = _versions(python)

    assert all(_SDKS[name].specifier.contains(version) for name, version in versions.items())
    majors = {name: Version(version).major for name, version in versions.items()}
    assert majors == {name: _major(each, end) for name, each in _SDKS.items()}, versions
    _run_suite(python, tmp_path, without=_LATER if end == "oldest" else ())


def _environment(home: Path, *, resolution: str) -> Path:
    """An environment with the SDKs, in front of the one that runs this test."""
    until = () if os.environ.get("TOOLCRIB_VENDORS") == "today" else ("--exclude-newer", newest_allowed())
    wanted = ("--resolution", resolution, *until, *map(str, _SDKS.values()))
    failure = failure_of_uv("venv", "--python", sys.executable, home) or failure_of_uv(
        "pip", "install", "--no-config", "--python", home, *wanted
    )
    if failure:
        real_part_missing(f"the SDKs cannot be installed: {failure}")
    inside = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    behind = sysconfig.get_path("purelib")
    (inside / "behind.pth").write_text(f"import site; site.addsitedir({behind!r})\n", "utf-8")
    return home / "bin" / "python"


def _versions(python: Path) -> dict[str, str]:
    ask = f"from importlib.metadata import version\nfor each in {list(_SDKS)}: print(each, version(each))"
    answer = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True, timeout=60).stdout
    return {name: version for name, _, version in (line.partition(" ") for line in answer.splitlines())}


def _major(requirement: Requirement, end: str) -> int:
    """The major version at that end of the range: that of the lower bound, or the one before the upper bound."""
    bounds = {each.operator: Version(each.version).major for each in requirement.specifier}
    return bounds[">="] if end == "oldest" else bounds["<"] - 1


def _run_suite(python: Path, place: Path, *, without: Iterable[str]) -> None:
    files = [str(file) for each in _ADAPTERS.values() for name in _SUITE for file in each.folder.glob(f"tests/{name}")]
    left_out = [part for each in without for part in ("--deselect", f"packages/adapters/{each}")]
    # Their own warnings, and those of what they bring along, are not ours; whatever our code is warned of is.
    warnings = "filterwarnings=default\nerror:::(toolcrib|tests|packages)"
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"--basetemp={place / 't'}",
        "--tb=short",
        "-o",
        warnings,
    ]
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_"))}
    run = subprocess.run(
        [python, "-m", "pytest", *options, *left_out, *files],
        cwd=ROOT,
        env=clean,
        check=False,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert run.returncode == 0, run.stdout[-8_000:] + run.stderr[-2_000:]
