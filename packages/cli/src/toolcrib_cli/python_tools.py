"""Python tools as a server of the catalogue: `MODULE:NAME` names a toolbox, a tool, or several tools."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolcrib_cli.version import version
from toolcrib_cli.wiring import free_server_name
from toolcrib_core.wording import nearest, quoted
from toolcrib_mcp import ConfigError, ToolboxService, connect_service
from toolcrib_runtime import RunnableTool, Toolbox, create_toolbox

if TYPE_CHECKING:
    from toolcrib_cli.wiring import Asked, Brought
    from toolcrib_mcp.upstreams import Connect

_DEFAULT_NAME: Final = "toolbox"
_FORM: Final = "Write MODULE:NAME, as in `my_tools:toolbox`, or FILE.py:NAME."
_EXPECTED: Final = "a toolbox, a tool, a list of tools, or a function without arguments that returns one of these"


class Target(NamedTuple):
    """Where Python tools are: a module by its name or its file, and what holds the tools in it."""

    module: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether the module is named by its file."""
        return self.module.endswith(".py")

    @property
    def server(self) -> str:
        """The name of the server: the last part of the module's name, as far as ids can have it."""
        last = Path(self.module).stem if self.is_file else self.module.rpartition(".")[2]
        words = re.sub(r"[^a-z0-9_-]+", "-", last.lower()).strip("-_")
        return words if words[:1].isalpha() else f"tools-{words}".rstrip("-")

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@asynccontextmanager
async def bring_python_tools(asked: Asked) -> AsyncIterator[Brought]:
    """A server for each toolbox, named after its module.

    Raises:
        ConfigError: A module cannot be imported, or holds no tools by that name.
    """
    async with AsyncExitStack() as holding:
        brought: dict[str, Connect] = {}
        for text in asked.python_tools:
            target = parse_target(text)
            toolbox = await asyncio.to_thread(load_toolbox, target, folder=asked.folder)
            await holding.enter_async_context(toolbox)
            service = ToolboxService(
                # The gateway decides by risk which calls need approval; a second gate in here would ask again.
                toolbox.delegate_risk(),
                name=target.server,
                version=version(),
                instructions=f"Python tools of {target}.",
            )
            brought[free_server_name(target.server, brought)] = connect_service(service)
        yield brought


def parse_target(text: str) -> Target:
    """Read `MODULE:NAME`; without a name it is `toolbox`.

    Raises:
        ConfigError: It names no module.
    """
    module, _, name = text.partition(":")
    by_name = all(part.isidentifier() for part in module.split("."))
    if not (by_name or module.endswith(".py")) or not (name or _DEFAULT_NAME).isidentifier():
        raise ConfigError(f"{quoted(text)} does not name Python tools.", hint=_FORM, details={"target": text})
    return Target(module, name or _DEFAULT_NAME)


def load_toolbox(target: Target, *, folder: Path) -> Toolbox:
    """Import the module, as seen from the folder, and make a toolbox of what it holds by that name.

    What the module prints goes to standard error: standard output belongs to the protocol.

    Raises:
        ConfigError: The module cannot be imported, or holds no tools by that name.
    """
    with redirect_stdout(sys.stderr):
        value = _value_of(_imported(target, folder), target)
        try:
            return _toolbox_of(value() if _is_factory(value) else value, target)
        except ConfigError:
            raise
        except Exception as failure:
            raise _failed(target, failure) from failure


def _imported(target: Target, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return _import_file(folder / target.module) if target.is_file else importlib.import_module(target.module)
    except ModuleNotFoundError as failure:
        if failure.name is not None and not target.is_file and f"{target.module}.".startswith(f"{failure.name}."):
            raise ConfigError(
                f"There is no module {quoted(failure.name)}.",
                hint=f"It is looked for in {folder} and among installed packages. {_FORM}",
                details={"target": str(target)},
            ) from None
        raise _failed(target, failure) from failure
    except FileNotFoundError:
        raise ConfigError(f"There is no file {quoted(target.module)}.", hint=_FORM) from None
    except (Exception, SystemExit) as failure:
        raise _failed(target, failure) from failure


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve(strict=True))
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _failed(target: Target, failure: BaseException) -> ConfigError:
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(failure.__traceback__)
        if not str(frame.f_globals.get("__name__")).startswith(("toolcrib_", "importlib"))
    ]
    place = f" at {Path(frames[-1][0]).name}:{frames[-1][1]}" if frames else ""
    return ConfigError(
        f"{quoted(target.module)} cannot be imported: {type(failure).__name__}{place}: {failure}",
        hint=f"See the whole traceback: python -c 'import {target.server}'." if not target.is_file else None,
        details={"target": str(target)},
    )


def _value_of(module: ModuleType, target: Target) -> Any:
    try:
        return getattr(module, target.name)
    except AttributeError:
        held = [
            name for kind in (Toolbox, RunnableTool) for name, value in vars(module).items() if isinstance(value, kind)
        ]
        meant = nearest(target.name, held) or next(iter(held), None)
        raise ConfigError(
            f"The module {quoted(target.module)} has no {quoted(target.name)}.",
            hint=f"Did you mean `{target.module}:{meant}`?" if meant else f"It must hold {_EXPECTED}.",
            details={"target": str(target)},
        ) from None


def _is_factory(value: object) -> bool:
    return callable(value) and not isinstance(value, Toolbox | RunnableTool)


def _toolbox_of(value: object, target: Target) -> Toolbox:
    if isinstance(value, Toolbox):
        return value
    tools = [value] if isinstance(value, RunnableTool) else list(value) if isinstance(value, Iterable) else []
    if not tools or not all(isinstance(each, RunnableTool) for each in tools):
        raise ConfigError(
            f"{quoted(str(target))} is of the type `{type(value).__name__}` and holds no tools.",
            hint=f"It must be {_EXPECTED}. A function becomes a tool with `@tool`.",
            details={"target": str(target)},
        )
    return create_toolbox(tools)
