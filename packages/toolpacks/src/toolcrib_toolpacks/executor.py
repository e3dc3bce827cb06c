"""`PackExecutor`: runs the calls of packs, each by its kind, inside its limits and walls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import cached_property

import orjson

from toolcrib_core import ArgumentsTooLarge, JsonValue
from toolcrib_core.wording import count, quoted
from toolcrib_runtime.errors import DeadlineExceeded, OutputTooLarge, ProcessError
from toolcrib_runtime.executors.process_pool import WorkerPool
from toolcrib_runtime.executors.protocol import Work
from toolcrib_runtime.guards.json import parse_output
from toolcrib_runtime.guards.net import GuardedClient, NetGrant, Resolver
from toolcrib_runtime.guards.process import ProcessGate, run_process
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.guards.secrets.secret import Secret
from toolcrib_runtime.outputs import OUTPUT_LIMITS
from toolcrib_toolpacks import workers
from toolcrib_toolpacks.commands import Command
from toolcrib_toolpacks.defaults import with_defaults
from toolcrib_toolpacks.environment import looks_secret
from toolcrib_toolpacks.kinds.http import fetch, grant_for
from toolcrib_toolpacks.model import CliExecution, HttpExecution, Toolpack
from toolcrib_toolpacks.planning import PreparedPack, RunSettings
from toolcrib_toolpacks.shaping import read_output, shape_input
from toolcrib_toolpacks.telling import told

_LINE_END = 2
_START_SECONDS = 30.0


class PackExecutor:
    """Runs packs: functions in warm workers, scripts and programs in processes, requests through the guarded client.

    It belongs to one event loop. A call that is cancelled, or whose time is over, takes its process with it, and all
    that this had started.
    """

    def __init__(
        self, packs: Mapping[str, Toolpack], settings: RunSettings, *, resolver: Resolver | None = None
    ) -> None:
        """Take the packs by the ids of their tools; nothing is started before the first call."""
        self._packs = packs
        self._settings = settings
        self._resolver = resolver
        self._prepared: dict[str, PreparedPack] = {}
        self._gate = ProcessGate(settings.processes)
        self._clients: dict[NetGrant, GuardedClient] = {}
        self._open = AsyncExitStack()
        self._scrubber = Scrubber(hide_paths=True)

    @cached_property
    def workers(self) -> WorkerPool:
        """The warm workers of all packs."""
        return WorkerPool(
            workers=self._settings.workers,
            max_calls=self._settings.max_calls_per_worker,
            start_timeout=_START_SECONDS,
            grace=self._settings.grace,
        )

    async def run(self, work: Work, /) -> object:
        """Run one call; see `Executor.run`.

        Raises:
            ToolError: The call was refused, or failed; the guide to running tool files says which error means what.
            HandlerRaised: The pack's function raised.
        """
        latest = asyncio.get_running_loop().time() + self._packs[work.tool.id].timeout_ms / 1000
        prepared = self.prepared(work.tool.id)
        payload = _payload(prepared.pack, with_defaults(prepared.pack.input_schema, work.arguments))
        execution = prepared.pack.execution
        if isinstance(execution, HttpExecution):
            return await fetch(
                prepared.pack,
                execution,
                prepared.rendering,
                orjson.loads(payload),
                client=await self._client(prepared.pack),
                body=payload,
                seconds=_left(latest),
                scrubber=self._scrubber,
            )
        arguments = orjson.loads(payload)
        command = prepared.warm or prepared.command(arguments)
        if not command.warm:
            if isinstance(execution, CliExecution) and (execution.input != "json" or execution.body is not None):
                payload = shape_input(prepared.pack, execution, prepared.rendering, arguments).content
            return await self._run_process(prepared, command, payload, latest)
        return await workers.perform(
            self.workers, prepared, command, work, payload=payload, deadline=latest, scrubber=self._scrubber
        )

    async def aclose(self) -> None:
        """End every worker and connection; a later call starts new ones."""
        self._clients.clear()
        await self._open.aclose()
        pool = self.__dict__.pop("workers", None)
        if pool is not None:
            await pool.close()

    def prepared(self, tool_id: str) -> PreparedPack:
        """The pack of a tool, with its variables and templates.

        Raises:
            CapabilityRefused: It asks for variables that were not granted.
        """
        found = self._prepared.get(tool_id)
        if found is None:
            found = self._prepared[tool_id] = PreparedPack(self._packs[tool_id], self._settings)
            self._scrubber.add(*(Secret(value) for name, value in found.env.items() if looks_secret(name)))
        return found

    def depends_on(self, tool_id: str, arguments: Mapping[str, JsonValue]) -> str:
        """What a remembered result depends on beside the arguments: the pack, the state of its files, its `cacheKey`.

        Raises:
            ToolError: The call would be refused, so that there is nothing to remember.
        """
        prepared = self.prepared(tool_id)
        arguments = with_defaults(prepared.pack.input_schema, arguments)
        place = ("templating", "cacheKey")
        key = prepared.rendering.text(place, arguments) if prepared.rendering.template(place) is not None else ""
        is_request = isinstance(prepared.pack.execution, HttpExecution)
        files = () if is_request else prepared.command(arguments).own_files
        return f"{prepared.signature(files)}\n{key}"

    async def _run_process(self, prepared: PreparedPack, command: Command, payload: bytes, latest: float) -> JsonValue:
        pack, limit = prepared.pack, prepared.pack.limits.max_output_bytes
        spec = prepared.spec(command)
        try:
            result = await run_process(
                spec,
                timeout=_left(latest),
                stdin=payload,
                max_stdout=limit + _LINE_END,
                grace=self._settings.grace,
                gate=self._gate,
            )
        except (ProcessError, DeadlineExceeded, OutputTooLarge) as error:
            raise told(error, pack, self._scrubber) from error
        execution = pack.execution
        is_text = isinstance(execution, CliExecution) and execution.output != "json"
        output = result.stdout.rstrip(b"\r\n") if is_text else result.stdout.strip()
        if len(output) > limit:
            raise OutputTooLarge(
                f"{quoted(pack.tool)} gave {count(len(output), 'byte')}; at most {limit:,} are taken.",
                hint="Ask for less at once.",
                details={"bytes": len(output), "limit": limit},
            )
        what = f"output of `{pack.tool}`"
        if isinstance(execution, CliExecution):
            return read_output(output, execution, what=what, scrubber=self._scrubber)
        return parse_output(output, what=what, limits=OUTPUT_LIMITS, scrubber=self._scrubber)

    async def _client(self, pack: Toolpack) -> GuardedClient:
        grant = grant_for(pack, self._settings.network)
        if grant not in self._clients:
            client = GuardedClient(grant, resolver=self._resolver)
            self._clients[grant] = await self._open.enter_async_context(client)
        return self._clients[grant]


def _payload(pack: Toolpack, arguments: Mapping[str, object]) -> bytes:
    payload = orjson.dumps(arguments)
    if len(payload) > pack.limits.max_input_bytes:
        raise ArgumentsTooLarge(
            f"The input of {quoted(pack.tool)} has {count(len(payload), 'byte')}; "
            f"at most {pack.limits.max_input_bytes:,} are taken.",
            hint="Send less at once.",
            details={"bytes": len(payload), "limit": pack.limits.max_input_bytes},
        )
    return payload


def _left(latest: float) -> float:
    return max(0.0, latest - asyncio.get_running_loop().time())
