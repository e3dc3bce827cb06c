"""Starting a program: from a spec to a process with three pipes."""

from __future__ import annotations

import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process.home import make_home, remove_if_empty
from toolcrib_runtime.guards.process.limits import rlimits
from toolcrib_runtime.guards.process.sandbox import LaunchPlan, SandboxReport, available_layers, plan_launch
from toolcrib_runtime.guards.process.spec import ProcessSpec, environment, find_program


@dataclass(frozen=True, kw_only=True)
class StartedProcess:
    """A program that runs, its private directory (empty text without one), its mark, and its sandbox."""

    popen: subprocess.Popen[bytes]
    private: str
    mark: str
    report: SandboxReport

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        """Standard input, output and error."""
        # `Popen` has all three, because all three were asked for.
        return cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", (self.popen.stdin, self.popen.stdout, self.popen.stderr))


def start_process(spec: ProcessSpec) -> StartedProcess:
    """Start a program in a session of its own, behind its limits and layers.

    Raises:
        ProcessNotStarted: The program is missing or cannot be executed, or a required layer is missing.
    """
    mark = secrets.token_hex(8)
    private = "" if spec.inherit_env else make_home()
    try:
        env = environment(spec, private=private, mark=mark)
        program = find_program(spec, env.get("PATH", ""))
        cwd = spec.cwd or private or str(Path.cwd())
        plan = _plan(spec, program=program, own=(private, cwd if spec.sandbox.write_cwd else ""))
        popen = _popen([*plan.prefix, program, *spec.argv[1:]], cwd=cwd, env=env, name=spec.name)
    except BaseException:
        if private:
            remove_if_empty(private)
        raise
    return StartedProcess(popen=popen, private=private, mark=mark, report=plan.report)


def _plan(spec: ProcessSpec, *, program: str, own: tuple[str, ...]) -> LaunchPlan:
    return plan_launch(
        spec.sandbox,
        rlimits=rlimits(spec.limits) if spec.limits is not None else (),
        granted=(program, str(Path(program).resolve())),
        own=tuple(each for each in own if each),
        layers=available_layers(),
        script=spec.script,
    )


def _popen(argv: list[str], *, cwd: str, env: dict[str, str], name: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  # the one place that starts programs, and never by a shell
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            close_fds=True,
            start_new_session=True,
        )
    except OSError as error:
        raise ProcessNotStarted(
            f"The program {quoted(name)} could not be started: {error.strerror}.",
            hint="See that its working directory exists and that its arguments are not too long.",
        ) from None
