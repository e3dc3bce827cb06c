"""Whether a new version of a tool can take the place of the old one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.risk import ToolRisk, merge_risks
from toolcrib_core.schema.compare_changes import Change, Effect, schema_changes, worst_effect
from toolcrib_core.versions import SemVer, parse_version

_WHERE = ("definition", "input", "output")
_PROSE = ("title", "description", "tags", "examples", "input_examples", "cost_hint", "metadata", "upstream_name")

_OUTPUT_CAME: tuple[str, Effect, str] = ("output-added", "additive", "The result is described now.")
_OUTPUT_WENT: tuple[str, Effect, str] = ("output-removed", "breaking", "The result is not described any more.")


class Comparison(BaseModel):
    """The verdict over all changes: the worst of their effects; without changes, `compatible`."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    verdict: Effect
    changes: tuple[Change, ...]
    version_problem: str | None = None
    """What is wrong with the new version number, given the verdict."""


def compare(old: ToolDefinition, new: ToolDefinition) -> Comparison:
    """Say what changed, and whether those who use the old definition can go on with the new one.

    Input is contravariant: all that was accepted must be accepted still. Output is covariant: all that may come must
    have been possible before. What cannot be proven harmless counts as breaking, so `compatible` and `additive` can be
    relied on. Further decisions: another default is additive, because a call that leaves the argument out does
    something else; a raised risk and another name break; a lowered risk, prose and deprecation do not.

    The version must follow: a breaking change needs a higher major version (for `0.x` a higher minor one), an additive
    one a higher minor version (for `0.x` a higher patch). A pre-release may be followed by anything higher.
    """
    changes = [*_definition_changes(old, new), *_input_changes(old, new), *_output_changes(old, new)]
    ordered = sorted(set(changes), key=lambda each: (_WHERE.index(each.where), each.pointer, each.kind, each.message))
    verdict = worst_effect(each.effect for each in ordered)
    return Comparison(verdict=verdict, changes=tuple(ordered), version_problem=_version_problem(old, new, verdict))


def _input_changes(old: ToolDefinition, new: ToolDefinition) -> list[Change]:
    # Arguments are an object even where the schema leaves that out.
    before, after = ({"type": "object", **each.input_schema} for each in (old, new))
    return schema_changes(before, after, where="input")


def _output_changes(old: ToolDefinition, new: ToolDefinition) -> list[Change]:
    before, after = old.output_schema, new.output_schema
    if before is not None and after is not None:
        return schema_changes(before, after, where="output")
    if before is None and after is None:
        return []
    kind, effect, message = _OUTPUT_CAME if before is None else _OUTPUT_WENT
    return [Change(where="output", pointer="", kind=kind, effect=effect, message=message)]


def _definition_changes(old: ToolDefinition, new: ToolDefinition) -> Iterator[Change]:
    for part in ("namespace", "name"):
        before, after = getattr(old, part), getattr(new, part)
        if before != after:
            yield _change(part, "renamed", "breaking", f"The {part} changed from `{before}` to `{after}`.")
    for part in _PROSE:
        if getattr(old, part) != getattr(new, part):
            yield _change(part, f"{_kebab(part)}-changed", "compatible", f"`{to_camel(part)}` changed.")
    if old.kind != new.kind:
        yield _change("kind", "kind-changed", "additive", f"The kind changed from `{old.kind}` to `{new.kind}`.")
    yield from _risk_changes(old.risk, new.risk)
    yield from _lifecycle_changes(old, new)


def _risk_changes(old: ToolRisk, new: ToolRisk) -> Iterator[Change]:
    merged = merge_risks(old, new)
    for part in ToolRisk.model_fields:
        before, after, joined = (getattr(risk, part) for risk in (old, new, merged))
        if before != after:
            message = f"`{to_camel(part)}` of the risk changed from `{_text(before)}` to `{_text(after)}`."
            if joined == before:
                yield _change(f"risk/{to_camel(part)}", "risk-lowered", "compatible", message)
            else:
                yield _change(f"risk/{to_camel(part)}", "risk-raised", "breaking", message)


def _lifecycle_changes(old: ToolDefinition, new: ToolDefinition) -> Iterator[Change]:
    if old.lifecycle == new.lifecycle:
        return
    if new.lifecycle.deprecated and not old.lifecycle.deprecated:
        instead = f"; use `{new.lifecycle.replaced_by}`" if new.lifecycle.replaced_by else ""
        yield _change("lifecycle", "deprecated", "compatible", f"The tool is deprecated{instead}.")
    else:
        yield _change("lifecycle", "lifecycle-changed", "compatible", "`lifecycle` changed.")


def _version_problem(old: ToolDefinition, new: ToolDefinition, verdict: Effect) -> str | None:
    if verdict == "compatible":
        return None
    change = f"{'A breaking' if verdict == 'breaking' else 'An additive'} change"
    if old.version is None or new.version is None:
        return (
            f"{change} of a definition without a version: nobody can ask for the old one."
            if verdict == "breaking"
            else None
        )
    before, after = parse_version(old.version), parse_version(new.version)
    if before is None or after is None:
        text = old.version if before is None else new.version
        return f"{change}, but `{text}` is not SemVer, so the version does not say so."
    if _is_announced(before, after, verdict):
        return None
    needed = _needed_bump(before, verdict)
    return f"{change} from `{old.version}` to `{new.version}`: it needs a higher {needed} version."


def _is_announced(before: SemVer, after: SemVer, verdict: Effect) -> bool:
    if after.precedence <= before.precedence:
        return False
    length = {"major": 1, "minor": 2, "patch": 3}[_needed_bump(before, verdict)]
    return bool(before.prerelease) or after.triple[:length] > before.triple[:length]


def _needed_bump(before: SemVer, verdict: Effect) -> Literal["major", "minor", "patch"]:
    # SemVer §4 lets 0.x change at will; by custom, and in `^0.2`, its minor version counts as a major one.
    if verdict == "breaking":
        return "major" if before.major else "minor"
    return "minor" if before.major else "patch"


def _change(part: str, kind: str, effect: Effect, message: str) -> Change:
    return Change(where="definition", pointer=f"/{to_camel(part)}", kind=kind, effect=effect, message=message)


def _kebab(part: str) -> str:
    return part.replace("_", "-")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
