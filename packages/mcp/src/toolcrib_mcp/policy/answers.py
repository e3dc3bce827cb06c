"""Answers that people gave when they were asked about a call, remembered as rules that toolcrib writes itself.

They stand in `toolcrib.answers.toml` beside the configuration, or in the database that replicas share.
"""

from __future__ import annotations

import os
import secrets
import stat
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Protocol, TypeAlias

import orjson
from pydantic import Field, ValidationError

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy.files import file_state, lock_folder, replace_file, toml_value
from toolcrib_mcp.policy.model import PolicyModel
from toolcrib_mcp.policy.risks import RiskClass, is_covered
from toolcrib_runtime.clock import SYSTEM_CLOCK

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig
    from toolcrib_mcp.policy.subjects import PolicySubject
    from toolcrib_mcp.shared.notes import Notes
    from toolcrib_runtime.clock import Clock

ANSWERS_FILE: Final = "toolcrib.answers.toml"
"""The file with the remembered answers."""

MAX_ANSWERS: Final = 5_000
"""How many answers are remembered in all; further ones count once."""

_MAX_BYTES: Final = 8 * 1024 * 1024
_OWNER: Final = "everybody"
_ALPHABET: Final = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
_HEADER: Final = """\
# Answers that were given when toolcrib asked whether a tool may run. toolcrib writes this file: `toolcrib policy show`
# lists the answers, `toolcrib policy forget ID` takes one back. Your own rules belong into toolcrib.policy.toml.

version = 1
"""
_HINT: Final = "Mend it, or remove it to be asked again about everything."

_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]
Reach: TypeAlias = Literal["tool", "server"]


def short_name(taken: Iterable[str]) -> str:
    """A short name that is easy to read out and to type, and not among those that are taken."""
    known = set(taken)
    length = 3
    while True:
        for _ in range(20):
            name = "".join(secrets.choice(_ALPHABET) for _ in range(length))
            if name not in known and not name.isdigit():
                return name
        length += 1


class Answer(PolicyModel):
    """One remembered answer: for one principal, and one tool or one server."""

    id: Annotated[str, Field(pattern=r"^[0-9A-Z]{3,12}$")]
    """What people call it."""
    decision: Literal["allow", "deny"]
    principal: _Text
    server: _Text
    tool: _Text | None = None
    """The server's own name of the tool; without one, the answer is for every tool of the server."""
    risk: RiskClass
    """An answer that allows covers no tool with a higher risk than this."""
    definition: Annotated[str, Field(max_length=100)] = ""
    """The digest of the tool's definition; one that has changed is asked about again."""
    by: Annotated[str, Field(max_length=300)] = ""
    """Who answered."""
    at: Annotated[str, Field(max_length=40)] = ""
    """When, in UTC."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"answer {self.id}"

    @property
    def reason(self) -> str:
        """In words that can stand behind a colon."""
        about = "this tool" if self.tool is not None else f"the server {quoted(self.server)}"
        return f"you answered {'always' if self.decision == 'allow' else 'never'} for {about} ({self.name})"

    def covers(self, subject: PolicySubject) -> bool:
        """Whether it is about the call.

        One that denies goes by names alone. One that allows is for the definition that was asked about, for no higher
        risk, and never for a tool that the scan flags.
        """
        if (self.principal, self.server) != (subject.principal, subject.server):
            return False
        if self.tool is not None and self.tool != subject.tool:
            return False
        if self.decision == "deny":
            return True
        if subject.flags or not is_covered(subject.risk_class, self.risk):
            return False
        return self.tool is None or self.definition == subject.definition

    @property
    def place(self) -> tuple[str, str, str | None]:
        """What it is about: a later answer about the same takes its place."""
        return self.principal, self.server, self.tool


class Answers(Protocol):
    """Where answers are remembered. Its methods may wait for the disk or the database."""

    def current(self) -> tuple[Answer, ...]:
        """All of them, as they are now; the same object for as long as nothing changes.

        Raises:
            ConfigError: They cannot be read.
            StoreError: The database failed.
        """

    def add(self, make: Callable[[Iterable[str]], Answer]) -> Answer:
        """Remember the answer that is made when the ids that are taken are known; one about the same goes.

        Raises:
            ConfigError: It cannot be written, or there are too many.
            StoreError: The database failed.
        """

    def remove(self, fits: Callable[[Answer], bool]) -> tuple[Answer, ...]:
        """Forget the answers that fit, and give them.

        Raises:
            ConfigError: They cannot be written.
            StoreError: The database failed.
        """


def remember_answer(
    answers: Answers, subject: PolicySubject, decision: Literal["allow", "deny"], reach: Reach, *, by: str
) -> Answer:
    """Remember an answer about the tool of a call, or about its whole server.

    Raises:
        ConfigError: It cannot be written, or there are too many.
        StoreError: The database failed.
    """

    def make(taken: Iterable[str]) -> Answer:
        return Answer(
            id=short_name(taken),
            decision=decision,
            principal=subject.principal,
            server=subject.server,
            tool=subject.tool if reach == "tool" else None,
            risk=subject.risk_class,
            definition=subject.definition if reach == "tool" else "",
            by=by[:300],
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    try:
        return answers.add(make)
    except ValidationError:
        raise ConfigError("The name of the tool or of its server is too long for a rule.") from None


class MemoryAnswers:
    """Answers for as long as the process lives."""

    def __init__(self) -> None:
        self._known: tuple[Answer, ...] = ()

    def current(self) -> tuple[Answer, ...]:
        """All of them."""
        return self._known

    def add(self, make: Callable[[Iterable[str]], Answer]) -> Answer:
        """Remember an answer."""
        self._known, made = _with(self._known, make)
        return made

    def remove(self, fits: Callable[[Answer], bool]) -> tuple[Answer, ...]:
        """Forget answers."""
        gone = tuple(filter(fits, self._known))
        self._known = tuple(each for each in self._known if each not in gone)
        return gone


class AnswerFile:
    """Answers in a file, read again when it has changed; whoever changes it locks its folder and reads it anew."""

    def __init__(self, path: Path) -> None:
        """Read the file, if it is there.

        Raises:
            ConfigError: It cannot be used.
        """
        self.path = path
        self._lock = threading.Lock()
        self._state = file_state(path)
        self._known = _read(path)

    def current(self) -> tuple[Answer, ...]:
        """All of them; a file that is gone has none.

        Raises:
            ConfigError: The file was changed, and cannot be used; the answers before are given from then on.
        """
        state = file_state(self.path)
        if state != self._state:
            with self._lock:
                self._state = state
                self._known = _read(self.path)
        return self._known

    def add(self, make: Callable[[Iterable[str]], Answer]) -> Answer:
        """Remember an answer.

        Raises:
            ConfigError: The file cannot be used or written, and stays as it is.
        """
        with self._changing() as path:
            known, made = _with(_read(path), make)
            self._write(path, known)
        return made

    def remove(self, fits: Callable[[Answer], bool]) -> tuple[Answer, ...]:
        """Forget answers.

        Raises:
            ConfigError: As `add`.
        """
        with self._changing() as path:
            known = _read(path)
            gone = tuple(filter(fits, known))
            if gone:
                self._write(path, tuple(each for each in known if each not in gone))
        return gone

    @contextmanager
    def _changing(self) -> Iterator[Path]:
        path = Path(os.path.realpath(self.path))  # a link stays one
        try:
            with self._lock, lock_folder(path.parent):
                yield path
        except OSError as failure:
            raise ConfigError(f"{quoted(path.name)} cannot be written: {failure.strerror}.") from None

    def _write(self, path: Path, known: tuple[Answer, ...]) -> None:
        replace_file(path, _text_of(known), mode=0o600)
        self._known, self._state = known, file_state(self.path)


class SharedAnswers:
    """Answers in the database that replicas share; each is a note of its own, so that none is lost."""

    def __init__(self, notes: Notes, *, clock: Clock = SYSTEM_CLOCK, every: float = 1.0) -> None:
        """Take the notes of a kind of its own; what others change is seen after so many seconds."""
        self._notes = notes
        self._clock = clock
        self._every = every
        self._looked_at: float | None = None
        self._known: dict[str, Answer] = {}
        self._all: tuple[Answer, ...] = ()

    def is_due(self) -> bool:
        """Whether `current` would ask the database."""
        return self._looked_at is None or self._clock.monotonic() - self._looked_at >= self._every

    def current(self) -> tuple[Answer, ...]:
        """All of them.

        Raises:
            StoreError: The database failed.
        """
        if self.is_due():
            self._look()
        return self._all

    def add(self, make: Callable[[Iterable[str]], Answer]) -> Answer:
        """Remember an answer.

        Raises:
            ConfigError: There are too many.
            StoreError: The database failed.
        """
        while True:
            _, made = _with(self._look(), make)
            content = orjson.dumps(made.model_dump(mode="json", exclude_none=True))
            if self._notes.add(_OWNER, {made.id: content})[1]:
                break
        for each in self._known.values():
            if each.place == made.place:
                self._notes.take(_OWNER, each.id)
        self._look()
        return made

    def remove(self, fits: Callable[[Answer], bool]) -> tuple[Answer, ...]:
        """Forget answers.

        Raises:
            StoreError: The database failed.
        """
        gone = tuple(each for each in self._look() if fits(each) and self._notes.take(_OWNER, each.id) is not None)
        self._look()
        return gone

    def _look(self) -> tuple[Answer, ...]:
        found = {key: Answer.model_validate_json(each.content) for key, each in self._notes.every(_OWNER).items()}
        self._looked_at = self._clock.monotonic()
        if found != self._known:
            self._known, self._all = found, tuple(found.values())
        return self._all


def _with(known: tuple[Answer, ...], make: Callable[[Iterable[str]], Answer]) -> tuple[tuple[Answer, ...], Answer]:
    made = make(each.id for each in known)
    kept = tuple(each for each in known if each.place != made.place)
    if len(kept) >= MAX_ANSWERS:
        raise ConfigError("Too many answers are remembered.", hint="Forget some with `toolcrib policy forget`.")
    return (*kept, made), made


def answers_path(config: GatewayConfig, state_dir: Path | None) -> Path | None:
    """Where the answers for a configuration lie, or would: beside it, or in its state directory.

    Beside it only where there is a configuration file whose folder can be written.
    """
    if config.path is not None:
        beside = config.path.parent / ANSWERS_FILE
        if beside.exists() or os.access(beside.parent, os.W_OK):
            return beside
    return None if state_dir is None else state_dir / ANSWERS_FILE


class _File(PolicyModel):
    version: Literal[1]
    answer: tuple[Answer, ...] = ()


def _read(path: Path) -> tuple[Answer, ...]:
    name = quoted(path.name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as failure:
        raise ConfigError(f"The answers in {name} cannot be read: {failure.strerror}.", hint=_HINT) from None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        raise ConfigError(f"{name} is not a plain file.", hint=_HINT)
    with os.fdopen(descriptor, "rb") as file:
        if facts.st_uid != os.geteuid():
            hint = "What it says allows calls. Look at it, then move it away, or make it yours with `chown`."
            raise ConfigError(f"{name} belongs to another user.", hint=hint)
        if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            hint = "Whoever can write it can allow calls: `chmod 600` it after a look at what it says."
            raise ConfigError(f"{name} can be written by other users.", hint=hint)
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{name} is too large.", hint=_HINT)
    try:
        return _File.model_validate_json(orjson.dumps(tomllib.loads(data.decode())), strict=True).answer
    except (ValueError, RecursionError, TypeError):
        # What a parser says may repeat a value.
        raise ConfigError(f"{name} does not hold answers that can be read.", hint=_HINT) from None


def _text_of(answers: Iterable[Answer]) -> str:
    tables = ["\n".join(["[[answer]]", *_lines_of(each), ""]) for each in answers]
    return "\n".join([_HEADER, *tables])


def _lines_of(answer: Answer) -> list[str]:
    return [f"{name} = {toml_value(value)}" for name, value in answer.model_dump(mode="json").items() if value]
