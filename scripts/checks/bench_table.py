"""The figures of a run beside the targets, in one table."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checks.bench_running import Outcome, Row
from checks.bench_targets import SHORTFALLS, TARGETS, Target

_WIDTH: Final = 116
_ID, _WHAT = 16, 48
_INDENT: Final = " " * (_ID + 1)
_THOUSAND: Final = 1_000
_VERDICTS: Final[Mapping[bool | None, str]] = {True: "met", False: "MISSED", None: ""}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One target with its figures, or with the reason why it has none."""

    target: Target
    rows: Sequence[Row]
    reason: str = ""

    @property
    def met(self) -> bool | None:
        """Whether every figure that has a bound keeps it; nothing where none has."""
        verdicts = [row["met"] for row in self.rows if "met" in row]
        return all(verdicts) if verdicts else None


def standings(outcomes: Mapping[str, Outcome]) -> list[Standing]:
    """Every target in its place, measured or not."""
    return [
        Standing(target=each, rows=rows, reason="" if rows else _reason(each, outcomes))
        for each in TARGETS
        for rows in [[row for outcome in outcomes.values() for row in outcome.rows if row["id"] == each.id]]
    ]


def other_rows(outcomes: Mapping[str, Outcome]) -> dict[str, list[Row]]:
    """By bench, the figures that no target is about."""
    about = {each.id for each in TARGETS}
    found = {name: [row for row in outcome.rows if row["id"] not in about] for name, outcome in outcomes.items()}
    return {name: rows for name, rows in found.items() if rows}


def render_table(outcomes: Mapping[str, Outcome]) -> str:
    """All of it at 116 columns: the targets first, then the rest by bench."""
    lines = [f"{'id':<{_ID}} {'what':<{_WHAT}} {'ours':>9} {'unit':<21} {'target':<9} met"]
    for each in standings(outcomes):
        if each.rows:
            lines += [line for row in each.rows for line in _lines(row)]
        else:
            start = f"{each.target.id:<{_ID}} {each.target.what:<{_WHAT}.{_WHAT}} {'-':>9}"
            lines.append(f"{start} not measured: {each.reason}"[:_WIDTH])
    for name, rows in other_rows(outcomes).items():
        lines += ["", f"{name}, beside the targets"]
        lines += [line for row in rows for line in _lines(row)]
    missed = missed_rows(outcomes)
    lines += ["", "bounds that are missed, and why"] if missed else []
    lines += [
        line
        for row, why in missed
        for line in textwrap.wrap(f"{row['id']} {row['what']}: {why}", _WIDTH, subsequent_indent="  ")
    ]
    return "\n".join(lines)


def missed_rows(outcomes: Mapping[str, Outcome]) -> list[tuple[Row, str]]:
    """Every figure beyond its bound, with the reason as far as there is one."""
    rows = [row for outcome in outcomes.values() for row in outcome.rows if row.get("met") is False]
    return [(row, SHORTFALLS.get(row["id"], "not known")) for row in rows]


def render_summary(outcomes: Mapping[str, Outcome]) -> str:
    """How many figures are within their bounds, and what is missing, in one line."""
    verdicts = [row["met"] for outcome in outcomes.values() for row in outcome.rows if "met" in row]
    unmeasured = [each.target.id for each in standings(outcomes) if not each.rows]
    failed = [name for name, outcome in outcomes.items() if outcome.failed is not None]
    parts = [
        f"bench: {sum(len(outcome.rows) for outcome in outcomes.values())} figures",
        f"{sum(verdicts)} of {len(verdicts)} bounds met",
        f"{len(TARGETS) - len(unmeasured)} of {len(TARGETS)} targets measured",
        f"{len(failed)} benches failed" + (f" ({', '.join(failed)})" if failed else ""),
    ]
    return " · ".join(parts)


def shown(figure: float) -> str:
    """A figure with as many digits as it deserves."""
    return f"{figure:,.0f}" if abs(figure) >= _THOUSAND else f"{figure:.3g}"


def shown_peers(row: Row) -> str:
    """The peers of a row, each with its figure."""
    return ", ".join(f"{name} {shown(figure)}" for name, figure in row.get("peers", {}).items())


def _reason(target: Target, outcomes: Mapping[str, Outcome]) -> str:
    if target.reason:
        return target.reason
    outcome = outcomes.get(target.bench)
    if outcome is None:
        return f"`{target.bench}` was not run"
    if outcome.rows:
        return "left out by --quick" if outcome.quick else f"`{target.bench}` did not print it"
    return outcome.absent or f"`{target.bench}` failed: {outcome.failed}"


def _lines(row: Row) -> Iterator[str]:
    what, *rest = textwrap.wrap(row["what"], _WHAT)
    start = f"{row['id']:<{_ID}} {what:<{_WHAT}} {shown(row['ours']):>9} {row['unit']:<21.21}"
    yield f"{start} {row.get('target', ''):<9} {_VERDICTS[row.get('met')]}".rstrip()
    yield from (f"{_INDENT}{line}" for line in rest)
    if row.get("peers"):
        yield from textwrap.wrap(
            f"peers: {shown_peers(row)}", _WIDTH, initial_indent=_INDENT + "  ", subsequent_indent=_INDENT + "  "
        )
