"""What is to be started: the program, its arguments, its environment, and what it may do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolcrib_core import ToolErrorCategory
from toolcrib_core.wording import listed, quoted
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process.limits import ProcessLimits
from toolcrib_runtime.guards.process.sandbox import SandboxWishes

DEFAULT_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a program is looked for unless the spec declares a `PATH` of its own."""

TREE_VARIABLE: Final = "TOOLCRIB_TREE"
"""Carries the mark by which the processes of a tree are found again, also those that left its session."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MARKS = re.compile(r"[0-9a-f.]{1,512}")
# What makes a loader or an interpreter run or read something else than the program that was named.
_LOADER = re.compile(
    r"LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|LOCPATH|NLSPATH|MALLOC_TRACE|IFS|ENV|BASH_ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PS4"
    r"|PYTHON.*|NODE_(OPTIONS|PATH|REPL_EXTERNAL_MODULE|EXTRA_CA_CERTS)|PERL5?(OPT|LIB|DB)|RUBY(OPT|LIB)"
    r"|PHP_INI_SCAN_DIR|PHPRC|LUA_INIT.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH"
    r"|GIT_(EXEC_PATH|SSH.*|CONFIG.*|TEMPLATE_DIR|EXTERNAL_DIFF|PROXY_COMMAND)"
)
_HARMLESS = frozenset(
    {"PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONUTF8"}
)


@dataclass(frozen=True, kw_only=True)
class ProcessSpec:
    """A program to start, never through a shell.

    `argv[0]` is an absolute path, or a name that is looked up in the child's `PATH`. Without a `cwd` the child runs in
    a private directory that goes away with it. `env` holds the declared variables; the child gets nothing else of
    ours, unless `inherit_env` is set, which is for our own workers only. Variables that change which code a program
    loads are refused, unless `trusted_env` says that whoever declared them chose the program, too.
    A `script` is a Python file with an absolute path, run by this interpreter with its site-packages and none of our
    options; it is restricted before its first line, also in which programs it may become.
    Messages name the program by its `label`, where it has one, and else by its file.

    Raises:
        ProcessNotStarted: An argument or a variable can never be passed on; the message names the place, not the value.
    """

    argv: tuple[str, ...] = field(repr=False)
    cwd: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    limits: ProcessLimits | None = field(default_factory=ProcessLimits)
    sandbox: SandboxWishes = field(default_factory=SandboxWishes)
    inherit_env: bool = False
    trusted_env: bool = False
    script: bool = False
    label: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "argv", tuple(self.argv))
        object.__setattr__(self, "env", dict(self.env))
        if not self.argv or not self.argv[0]:
            raise _refused("No program is named.", hint="Give the program as the first element of `argv`.")
        for place, argument in enumerate(self.argv):
            if not _passes(argument):
                raise _refused(f"Element {place} of `argv` has a character that cannot be passed to a program.")
        if not self.trusted_env:
            _refuse_loaders(self.env)
        _check_variables(self.env)

    @property
    def name(self) -> str:
        """The program as messages name it."""
        return self.label or Path(self.argv[0]).name


def environment(spec: ProcessSpec, *, private: str, mark: str) -> dict[str, str]:
    """All variables of the child: made from nothing, unless the spec inherits ours."""
    base = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8", "HOME": private, "TMPDIR": private}
    if spec.inherit_env:
        base = dict(os.environ)
    # A child of a child carries both marks, so that the outer tree still finds it.
    outer = os.environ.get(TREE_VARIABLE, "")
    marks = f"{outer}.{mark}" if _MARKS.fullmatch(outer) else mark
    return base | dict(spec.env) | {TREE_VARIABLE: marks}


def find_program(spec: ProcessSpec, path: str) -> str:
    """The absolute path of the program, which is there, may be executed, and has its interpreter.

    Raises:
        ProcessNotStarted: It is not.
    """
    program = _located(spec.argv[0], path, needed=os.R_OK if spec.script else os.X_OK)
    if spec.script:
        return program
    try:
        with Path(program).open("rb") as file:
            head = file.read(256)
    except PermissionError:
        return program  # executable but not readable: only the kernel can say more
    if head.startswith(b"#!"):
        _check_interpreter(spec.name, head, path)
    elif b"\0" not in head:
        # `execvp` would hand such a file to a shell.
        raise _refused(
            f"{quoted(spec.name)} is neither a binary nor a script that names its interpreter.",
            hint="Begin the script with a `#!` line.",
        )
    return program


def _located(program: str, path: str, *, needed: int) -> str:
    if Path(program).is_absolute():
        candidates = [Path(program)]
    elif os.sep in program:
        raise _refused(f"The program {quoted(program)} is a relative path.", hint="Give an absolute path or a name.")
    else:
        candidates = _in_path(program, path)
    files = [each for each in candidates if _is_file(each)]
    for each in files:
        if os.access(each, needed):
            return str(each)
    if files:
        raise _refused(
            f"The program {quoted(Path(program).name)} is not executable.",
            category=ToolErrorCategory.PERMISSION,
            hint="Give it the permission to be executed.",
        )
    raise _refused(
        f"The program {quoted(Path(program).name)} was not found.",
        category=ToolErrorCategory.NOT_FOUND,
        hint="Install it, or give its absolute path.",
    )


def _in_path(name: str, path: str) -> list[Path]:
    directories = map(Path, path.split(os.pathsep))
    return [each / name for each in directories if each.is_absolute()]


def _check_interpreter(name: str, head: bytes, path: str) -> None:
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split() or [""]
    interpreter, candidates = words[0], [Path(words[0])]
    if Path(interpreter).name == "env" and len(words) > 1 and not words[1].startswith("-"):
        interpreter, candidates = words[1], _in_path(words[1], path)
    if not any(map(_executable, candidates)):
        raise _refused(
            f"The interpreter of the script {quoted(name)} was not found: {quoted(interpreter)}.",
            category=ToolErrorCategory.NOT_FOUND,
            hint="Install the interpreter, or correct the first line of the script.",
        )


def _executable(path: Path) -> bool:
    return _is_file(path) and os.access(path, os.X_OK)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # `is_file` raises for a file in a directory that may not be entered


def _refuse_loaders(env: Mapping[str, str]) -> None:
    loaders = sorted(name for name in env if _LOADER.fullmatch(name) and name not in _HARMLESS)
    if loaders:
        raise _refused(
            f"Variables that change which code a program loads are never passed on: {listed(loaders)}.",
            hint="Remove them from the declared environment.",
            category=ToolErrorCategory.PERMISSION,
        )


def _check_variables(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not _NAME.fullmatch(name) or name == TREE_VARIABLE:
            raise _refused(f"{quoted(name)} cannot be declared as an environment variable.")
        if not _passes(value):
            raise _refused(f"The variable {quoted(name)} has a character that cannot be passed to a program.")


def _passes(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _refused(
    message: str, *, hint: str | None = None, category: ToolErrorCategory = ToolErrorCategory.VALIDATION
) -> ProcessNotStarted:
    return ProcessNotStarted(message, hint=hint, category=category)
