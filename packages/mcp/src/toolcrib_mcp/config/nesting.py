"""toolcrib behind toolcrib: recognised in a configuration, and bounded where it was not.

Every server that is started gets the chain of configurations above it in `NESTING_VARIABLE`. A gateway whose own
configuration is in that chain, or that is nested too deep, does not serve.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError

NESTING_VARIABLE: Final = "TOOLCRIB_CHAIN"
"""The configurations that are served above a process, outermost first, as a JSON list of paths."""

MAX_DEPTH: Final = 3
"""How many gateways may be above one."""

CONFIG_VARIABLE: Final = "TOOLCRIB_CONFIG"
"""Names the configuration where no option does."""

PROJECT_FILES: Final = ("mcp.json", ".mcp.json", ".vscode/mcp.json")
"""The files of a project that are taken when none is named, the first that is there."""

_NO_FILE: Final = ""
_MODULES: Final = frozenset({"toolcrib", "toolcrib_cli"})
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*w?|py")
_RUNNERS: Final = frozenset(
    (
        "bunx",
        "env",
        "exec",
        "hatch",
        "nice",
        "nohup",
        "npx",
        "pdm",
        "pipx",
        "poetry",
        "pnpm",
        "rye",
        "sudo",
        "uv",
        "uvx",
    )
)
_RUNNER_WORDS: Final = frozenset(("dlx", "exec", "run", "tool", "x", "--"))
# Options of runners whose value is the next word.
_WITH_VALUE: Final = frozenset(
    (
        *("--directory", "--env-file", "--extra", "--from", "--index-url", "--package", "--project", "--python"),
        *("--spec", "--with", "-c", "-n", "-p", "-u"),
    )
)
_TOOLBOX: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*|--toolbox(?:=.*)?")
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9._/-]+")


def toolcrib_arguments(command: Sequence[str]) -> Sequence[str] | None:
    """The arguments that a command starts toolcrib with; `None` for one that starts something else.

    Runners such as `uvx` and `python -m` are looked through. An argument that is only called so is no toolcrib.
    """
    if not command:
        return None
    name, rest = _program(command[0]), command[1:]
    if name == "toolcrib":
        return rest
    if _PYTHON.fullmatch(name):
        return _of_python(rest)
    return _of_runner(rest) if name in _RUNNERS else None


def is_gateway(command: Sequence[str]) -> bool:
    """Whether a command is `toolcrib serve`, which serves a whole configuration unless it names Python tools alone."""
    arguments = toolcrib_arguments(command)
    if arguments is not None and _named_config(arguments) is None and any(map(_TOOLBOX.fullmatch, arguments)):
        return False
    return arguments is not None and next((each for each in arguments if not each.startswith("-")), "serve") == "serve"


def leads_back(command: Sequence[str], config: Path, *, env: Mapping[str, str], folder: Path) -> bool:
    """Whether a command is `toolcrib serve` with this configuration; `folder` is where it is started."""
    if not is_gateway(command):
        return False
    named = _named_config(toolcrib_arguments(command) or ()) or env.get(CONFIG_VARIABLE)
    if named is None:
        files = (folder / each for each in PROJECT_FILES)
        found = next((each for each in files if each.is_file()), None)
    else:
        found = folder / Path(named).expanduser()
    return found is not None and found.resolve() == config.resolve()


def nested_chain(environ: Mapping[str, str], config: Path | None) -> str:
    """The value of `NESTING_VARIABLE` for a server that this configuration starts."""
    return json.dumps([*_chain(environ), _NO_FILE if config is None else str(config.resolve())])


def refuse_endless_nesting(config: Path | None, environ: Mapping[str, str] = os.environ) -> None:
    """See to it that a gateway with this configuration may serve where it was started.

    Raises:
        ConfigError: It was started by a gateway with the same configuration, or below too many gateways.
    """
    chain = _chain(environ)
    if config is not None and str(config.resolve()) in chain:
        raise ConfigError(
            f"The configuration {quoted(config.name)} leads back to itself: a server of it starts toolcrib with it.",
            hint="Remove that server, or name another configuration with `--config`.",
            details={"chain": list(chain)},
        )
    if len(chain) >= MAX_DEPTH:
        raise ConfigError(
            f"There are {len(chain)} toolcrib gateways above this one, and no more than {MAX_DEPTH} may be nested.",
            hint="Put the servers of the inner configurations into one.",
            details={"chain": list(chain)},
        )


def _chain(environ: Mapping[str, str]) -> tuple[str, ...]:
    try:
        found = json.loads(environ.get(NESTING_VARIABLE, "[]"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        return (_NO_FILE,) * MAX_DEPTH  # somebody changed it: nothing is known of how deep this is
    return tuple(found)


def _program(word: str) -> str:
    name = PurePath(word).name.lower()
    return name.removesuffix(".exe").removesuffix(".cmd")


def _of_python(words: Sequence[str]) -> Sequence[str] | None:
    for at, word in enumerate(words):
        if word == "-m":
            return words[at + 2 :] if words[at + 1 : at + 2] and words[at + 1] in _MODULES else None
        if word == "-c":
            return None
        if not word.startswith("-"):
            return words[at + 1 :] if _program(word) == "toolcrib" else None
    return None


def _of_runner(words: Sequence[str]) -> Sequence[str] | None:
    skip = False
    for at, word in enumerate(words):
        if skip or word.startswith("-") or word in _RUNNER_WORDS or re.match(r"[A-Za-z_]\w*=", word):
            skip = not skip and word in _WITH_VALUE
            continue
        # `toolcrib@1.2`, `toolcrib[all]` and `toolcrib==1.2` name the program, too.
        program = _REQUIREMENT.match(word)
        return toolcrib_arguments([program[0] if program else word, *words[at + 1 :]])
    return None


def _named_config(arguments: Sequence[str]) -> str | None:
    for at, word in enumerate(arguments):
        if word in {"--config", "-c"} and at + 1 < len(arguments):
            return arguments[at + 1]
        if word.startswith("--config="):
            return word.partition("=")[2]
    return None
