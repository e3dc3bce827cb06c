"""The store of packs as a state machine: whatever is done in whatever order, it agrees with a model of a few lines."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from pack_cases import bench, document, section

from toolcrib_contextpacks import PackConflict, PackNotFound, PackStateRefused, RevisionConflict

GRACE = 900.0
NAMES = st.none() | st.sampled_from(["first", "second"])
STATUSES = st.sampled_from([None, "draft", "finalized"])
TEXTS = st.sampled_from(["one", "two"])


@dataclass
class Known:
    """What the model knows of a pack."""

    name: str | None
    status: str
    expires_at: float
    text: str
    revision: int = 1
    texts: dict[int, str] = field(default_factory=dict)

    def next(self, **changes: Any) -> None:
        vars(self).update(changes)
        self.revision += 1
        self.texts[self.revision] = self.text


class Packs(RuleBasedStateMachine):
    """Packs are made, changed, finalized, extended, deleted and forgotten, while the time passes."""

    made = Bundle("made")

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self.bench = self._stack.enter_context(bench(folder))
        self.packs = self.bench.packs
        self.known: dict[str, Known] = {}

    def teardown(self) -> None:
        self._stack.close()

    @property
    def now(self) -> float:
        return self.bench.clock.now()

    def alive(self, pack_id: str) -> Known | None:
        known = self.known.get(pack_id)
        return known if known is not None and known.expires_at + GRACE > self.now else None

    def fresh(self, name: str) -> list[str]:
        return [each for each, known in self.known.items() if known.name == name and known.expires_at > self.now]

    @rule(target=made, name=NAMES, status=STATUSES, text=TEXTS, minutes=st.sampled_from([1, 30]))
    def make(self, name: str | None, status: str | None, text: str, minutes: int) -> str:
        wanted = _document(text, name=name, status=status) | {"ttl_minutes": minutes}
        taken = name is not None and self.fresh(name)
        if taken:
            with pytest.raises(PackConflict):
                self.packs.write(wanted)
            return "pk_aaaaaaaa"
        pack = self.packs.write(wanted).pack
        self.known[pack.id] = Known(name, status or "draft", self.now + minutes * 60, text, texts={1: text})
        return pack.id

    @rule(pack_id=made, status=STATUSES, text=TEXTS, behind=st.sampled_from([0, 0, 1]))
    def change(self, pack_id: str, status: str | None, text: str, behind: int) -> None:
        known = self.alive(pack_id)
        wanted = _document(text, status=status)
        if known is None:
            with pytest.raises(PackNotFound):
                self.packs.write(wanted, pack_id=pack_id, expected_revision=1)
        elif behind and known.revision > 1:
            with pytest.raises(RevisionConflict) as refused:
                self.packs.write(wanted, pack_id=pack_id, expected_revision=known.revision - 1)
            changed = known.texts[known.revision - 1] != known.text
            assert refused.value.details["changed_section_keys"] == (["findings"] if changed else [])
        elif known.status == "finalized" and status is None:
            with pytest.raises(PackStateRefused):
                self.packs.write(wanted, pack_id=pack_id, expected_revision=known.revision)
        else:
            self.packs.write(wanted, pack_id=pack_id, expected_revision=known.revision)
            if not (known.status == status == "finalized" and known.text == text):
                known.next(status=status or "draft", text=text)

    @rule(pack_id=made, minutes=st.sampled_from([1, 60]))
    def extend(self, pack_id: str, minutes: int) -> None:
        known = self.alive(pack_id)
        if known is None:
            return
        if known.expires_at <= self.now and known.name is not None and self.fresh(known.name):
            with pytest.raises(PackConflict):
                self.packs.ttl(pack_id=pack_id, extend_minutes=minutes)
            return
        self.packs.ttl(pack_id=pack_id, extend_minutes=minutes)
        known.expires_at = max(self.now, known.expires_at) + minutes * 60

    @rule(pack_id=consumes(made))
    def delete(self, pack_id: str) -> None:
        if self.alive(pack_id) is None:
            with pytest.raises(PackNotFound):
                self.packs.delete(pack_id=pack_id)
        else:
            assert self.packs.delete(pack_id=pack_id) == pack_id
        self.known.pop(pack_id, None)

    @rule(seconds=st.sampled_from([1, 60, 900, 1800]))
    def wait(self, seconds: int) -> None:
        self.bench.clock.turn(seconds)

    @rule()
    def sweep(self) -> None:
        self.packs.sweep()

    @invariant()
    def agrees(self) -> None:
        for pack_id, known in self.known.items():
            if self.alive(pack_id) is None:
                with pytest.raises(PackNotFound):
                    self.packs.get(pack_id=pack_id)
                continue
            pack = self.packs.get(pack_id=pack_id)
            assert (pack.revision, pack.status, pack.name) == (known.revision, known.status, known.name)
            assert pack.document.sections[1].description == known.text
            assert pack.expires_at == known.expires_at
        for name in ("first", "second"):
            fresh = self.fresh(name)
            assert len(fresh) <= 1
            if fresh:
                assert self.packs.get(name=name).id == fresh[0]
        listed = {heading.id for heading, _ in self.packs.list(limit=500).packs}
        assert listed == {each for each, known in self.known.items() if known.expires_at > self.now}


def _document(text: str, **more: Any) -> dict[str, Any]:
    said = {key: value for key, value in more.items() if value is not None}
    return document(section("scope"), section("findings", text), section("qa", "verdict: pass"), **said)


TestPacks = pytest.mark.req("CP-17")(pytest.mark.slow(Packs.TestCase))
TestPacks.settings = settings(max_examples=12, stateful_step_count=20)
