"""The journal of one process: noting costs a caller next to nothing, and a thread of its own writes."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import orjson

from toolcrib_mcp.audit.events import AuditEvent, EventWriter
from toolcrib_mcp.audit.heads import Heads
from toolcrib_mcp.audit.keys import AuditKey
from toolcrib_mcp.audit.writing import ChainWriter, Fields, OpenSegment, moment, open_segment
from toolcrib_store import StoreError

ROOM: Final = 10_000
"""How many events may wait to be written; what comes beyond is counted, and lost."""

BATCH: Final = 500
"""So many are written at once, at most, and at once when so many wait."""

_FLUSH_SECONDS: Final = 0.2
_HEAD_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 10.0
_logger = logging.getLogger("toolcrib.mcp.audit")


class AuditJournal:
    """Writes down what happens, in a file of its own that begins with the first event.

    A disk that is full or fails holds up nothing here: events wait, and `problem` says why, so that no more calls need
    run meanwhile. When too many wait they are counted as lost, which is written down once that works again. What still
    waits at the end goes to the log. A kill loses what was not written yet, a fifth of a second at most.
    """

    def __init__(
        self,
        folder: Path,
        *,
        key: AuditKey,
        heads: Heads,
        writer: EventWriter,
        keeps_arguments: bool = False,
        room: int = ROOM,
        clock: Callable[[], float] = time.time,
        opening: OpenSegment = open_segment,
    ) -> None:
        self.folder = folder
        """Where the segments are."""
        self.keeps_arguments = keeps_arguments
        """Whether arguments are written, without what looks like a secret."""
        self._key = key
        self._heads = heads
        self._writer = writer
        self._room = room
        self._clock = clock
        self._opening = opening
        self._chain: ChainWriter | None = None
        self._began = 0.0
        self._lock = threading.Lock()
        self._waiting: list[tuple[float, AuditEvent]] = []
        self._lost = 0
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._closing = threading.Event()
        self._head_kept_at = float("-inf")
        self._unkept = False
        self._complained: set[str] = set()
        self._problems: dict[str, str] = {}

    @property
    def problem(self) -> str | None:
        """Why what happens cannot be written down right now; `None` while it can."""
        return next(iter(list(self._problems.values())), None)

    @property
    def is_crowded(self) -> bool:
        """Whether half of the events that may wait do: what runs from now on may be lost."""
        return len(self._waiting) >= self._room // 2

    @property
    def lost(self) -> int:
        """How many events were lost, and are not yet written down as such."""
        return self._lost

    def start(self) -> None:
        """Write down that the process has begun; without this, it happens with the first event."""
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._began = self._clock()
                self._thread = threading.Thread(target=self._work, name="toolcrib-audit", daemon=True)
                self._thread.start()
        self._wake.set()

    def note(self, event: AuditEvent) -> None:
        """Write this down soon; never waits, and never fails."""
        if self._thread is None:
            self.start()
        with self._lock:
            waiting = len(self._waiting)
            if waiting < self._room and not self._closing.is_set():
                self._waiting.append((self._clock(), event))
            else:
                self._lost += 1
        if not self._wake.is_set():
            self._wake.set()
        if waiting >= BATCH and not self._hurry.is_set():
            self._hurry.set()

    async def aclose(self) -> None:
        """As `close`, for whoever is on an event loop."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Write what waits, and that this is the end; a disk that does not let us is given up on after ten seconds."""
        with self._lock:
            self._closing.set()
            thread = self._thread
        if thread is None:
            return
        self._wake.set()
        self._hurry.set()
        thread.join(_CLOSE_SECONDS)
        if thread.is_alive() or self._waiting:
            self._log_waiting()

    def _log_waiting(self) -> None:
        """Say in the log what could not be written: it is the last place that is left."""
        with self._lock:
            waiting, lost = list(self._waiting), self._lost
        _logger.error(
            "the audit could not be closed: %d events are not in it and follow here, %d are lost", len(waiting), lost
        )
        for at, event in waiting:
            with suppress(Exception):  # one that cannot be written must not hide the others
                record = {**self._writer.fields(event), "time": moment(at)}
                _logger.error("not in the audit: %s", orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode())

    def _work(self) -> None:
        while not self._closing.is_set():
            self._wake.wait(_HEAD_SECONDS if self._unkept else None)
            self._hurry.wait(_FLUSH_SECONDS if self._chain is not None else 0)
            self._wake.clear()
            self._hurry.clear()
            if not self._written():
                self._closing.wait(_RETRY_SECONDS)
                self._wake.set()
        self._end()

    def _written(self) -> bool:
        """Whether all that waits was written."""
        try:
            if self._chain is None:
                self._chain = self._opened()
            while self._write_batch(self._chain):
                self._keep_head(self._chain)
        except OSError as failure:
            self._problems["disk"] = str(failure.strerror)
            self._complain("disk", f"the audit cannot be written ({failure.strerror}); what happens waits in memory")
            return False
        except Exception as failure:  # noqa: BLE001  # the edge of the thread: one event that cannot be written must not end it
            self._complain(type(failure).__name__, f"the audit failed ({type(failure).__name__})")
            self._give_up_batch()
            return True
        self._complained.discard("disk")
        self._problems.pop("disk", None)
        self._keep_head(self._chain)
        return True

    def _opened(self) -> ChainWriter:
        """A chain with its first record, which names the last that was there before."""
        before = None
        try:
            before = self._heads.newest()
        except StoreError as failure:
            self._complain("heads", f"the signed heads of the audit cannot be read: {failure.message}")
        chain = ChainWriter(self._opening(self.folder, self._began), key=self._key)
        first: Fields = {"kind": "start"}
        if before is not None:
            first = {**first, "after": before.segment, "afterSeq": before.seq, "afterHash": before.hash}
        try:
            chain.write([(self._began, first)])
        except OSError:
            chain.discard()
            raise
        # Alone, and at once: a segment that is longer than this has a head, or its head was removed.
        self._unkept = True
        self._keep_head(chain)
        return chain

    def _write_batch(self, chain: ChainWriter) -> bool:
        """Write some of what waits; whether there was anything."""
        with self._lock:
            batch = self._waiting[:BATCH]
            lost = self._lost if len(batch) == len(self._waiting) else 0
        if not batch and not lost:
            return False
        self._writer.forget()
        records: list[tuple[float, Fields]] = [(at, self._writer.fields(event)) for at, event in batch]
        if lost:
            records.append((self._clock(), {"kind": "lost", "lost": lost}))
        chain.write(records)
        with self._lock:
            del self._waiting[: len(batch)]
            self._lost -= lost
        self._unkept = True
        return True

    def _give_up_batch(self) -> None:
        with self._lock:
            gone = len(self._waiting[:BATCH])
            del self._waiting[:gone]
            self._lost += gone

    def _keep_head(self, chain: ChainWriter, *, now: bool = False) -> None:
        """Put the head where no change to the file reaches it; once a second is enough."""
        at = time.monotonic()
        if not self._unkept or (at - self._head_kept_at < _HEAD_SECONDS and not now) or chain.head is None:
            return
        self._head_kept_at = at
        try:
            self._heads.keep(chain.head)
        except StoreError as failure:
            self._problems["heads"] = failure.message.rstrip(".")
            self._complain("heads", f"the signed heads of the audit cannot be kept: {failure.message}")
        else:
            self._unkept = False
            self._problems.pop("heads", None)
            self._complained.discard("heads")

    def _end(self) -> None:
        written = self._written()
        if self._chain is None:
            return
        if written:
            try:
                self._chain.write([(self._clock(), {"kind": "stop"})])
                self._unkept = True
            except OSError as failure:
                self._complain("disk", f"the end of the audit cannot be written ({failure.strerror})")
        self._keep_head(self._chain, now=True)
        self._chain.close()

    def _complain(self, what: str, message: str) -> None:
        if what not in self._complained:
            self._complained.add(what)
            _logger.error(message)
