"""What a schema loses on its way to a vendor: by converting it here, and as others have converted it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from checks.reference_pages.lossiness_cases import CASES, Case
from checks.reference_pages.tables import code, table
from checks.workspace import ROOT

if TYPE_CHECKING:
    from toolcrib_core import Conversion, VendorDialect

RECORD: Final = ROOT / "bench/lossiness_peers.json"
_REFUSED: Final = ("oneOf", "allOf", "not", "if", "patternProperties", "prefixItems", "dependentRequired")
_SAYING: Final = frozenset({"type", "anyOf", "enum", "const", "$ref"})
_INTRODUCTION = """\
# What conversions lose

A vendor's format cannot say everything that a JSON Schema can.
Each row is a small input schema with one such thing, and a few arguments that tell whether it got lost.
Both the original and the converted schema are asked about them.
For the other libraries these are the schemas that `bench/lossiness_peers.py` has recorded.

- **kept**: the converted schema takes and refuses the same arguments.
- **wider, said**: it takes more, and the report of the conversion says where.
  Arguments are validated against the original before a tool runs.
- **not strict, said**: strict mode would have refused what the tool takes.
  So the schema stays whole, the tool is not strict, and the reasons are reported.
- **wider** or **narrower**: it takes more, or refuses what the tool takes, and nothing says so.
- **refused**: the API refuses a strict schema with that keyword, with an object that is not closed, or without a type.
- **raises**: the converter fails.
"""
_OTHERS = """
## Other converters

Versions are those of the record.
A property that may be left out counts as kept where null stands for absent.
What is not called strict is judged by JSON Schema alone: a keyword that a vendor takes and ignores counts as kept.
"""


def render_lossiness() -> str:
    """The page of losses: a table of ours, one of others, and how often each is silent."""
    ours = {label: [_our_verdict(case, *dialects) for case in CASES] for label, dialects in _our_formats().items()}
    record: Mapping[str, Mapping[str, Any]] = json.loads(RECORD.read_text("utf-8"))
    others = {label: [_peer_verdict(case, label, made[case.name]) for case in CASES] for label, made in record.items()}
    lines = [_INTRODUCTION, *_table(ours), _OTHERS, *_table(others), "", "## Silent losses", ""]
    silent = [(label, str(sum(map(_is_silent, verdicts)))) for label, verdicts in (ours | others).items()]
    lines += table(("converter", f"silent, refused or failed, of {len(CASES)}"), silent)
    return "\n".join(lines) + "\n"


def _our_formats() -> dict[str, tuple[VendorDialect, ...]]:
    from toolcrib_anthropic.strict import PLAIN as ANTHROPIC
    from toolcrib_anthropic.strict import STRICT as ANTHROPIC_STRICT
    from toolcrib_gemini.strict import SCHEMA as GEMINI
    from toolcrib_openai.strict import PLAIN, STRICT

    return {
        "toolcrib OpenAI strict": (STRICT, PLAIN),
        "toolcrib Anthropic strict": (ANTHROPIC_STRICT, ANTHROPIC),
        "toolcrib Gemini": (GEMINI,),
    }


def _table(columns: Mapping[str, list[str]]) -> list[str]:
    rows = [(code(case.name), *(verdicts[at] for verdicts in columns.values())) for at, case in enumerate(CASES)]
    return table(("schema", *columns), rows)


def _our_verdict(case: Case, *dialects: VendorDialect) -> str:
    from toolcrib_core import first_fitting

    made = first_fitting(case.schema, *dialects)
    wider, narrower = _differences(case, made.schema, conversion=made)
    if (wider and not made.report.widened) or (narrower and not made.report.narrowed):
        return "wider" if wider else "narrower"
    if made.refused:
        return "not strict, said"
    if narrower:
        return "narrower, said"
    return "wider, said" if wider or made.report.widened else "kept"


def _peer_verdict(case: Case, label: str, made: Mapping[str, Any]) -> str:
    if "error" in made:
        return f"raises `{made['error']}`"
    if "strict" in label and (refused := _refused_keyword(made["schema"])):
        return f"refused: {refused}"
    wider, narrower = _differences(case, made["schema"])
    return ", ".join(word for word, there in (("wider", wider), ("narrower", narrower)) if there) or "kept"


def _is_silent(verdict: str) -> bool:
    return verdict != "kept" and not verdict.endswith("said")


def _differences(case: Case, converted: Any, *, conversion: Conversion | None = None) -> tuple[bool, bool]:
    """Whether the converted schema takes more, and whether it takes less."""
    import jsonschema_rs

    from toolcrib_core import restore_arguments
    from toolcrib_core.json_values import thaw

    takes = jsonschema_rs.Draft202012Validator(case.schema, offline=True, validate_formats=False)
    takes_converted = jsonschema_rs.Draft202012Validator(thaw(converted), offline=True, validate_formats=False)
    wider = narrower = False
    for value in case.values:
        optional = {name: None for name in converted.get("required", ()) if name not in value}
        written = {**value, **{name: None for name in optional if name not in case.schema.get("required", ())}}
        narrower = narrower or (takes.is_valid(value) and not takes_converted.is_valid(written))
        read = restore_arguments(case.schema, value) if conversion and conversion.dialect.all_required else value
        wider = wider or (takes_converted.is_valid(value) and not takes.is_valid(read))
    return wider, narrower


def _refused_keyword(schema: Any) -> str | None:
    """What the OpenAI API refuses in a strict schema."""
    from toolcrib_core.schema.subschemas import subschemas

    if not isinstance(schema, dict):
        return None
    if found := [each for each in _REFUSED if each in schema]:
        return code(found[0])
    if not _SAYING & schema.keys():
        return "no type"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return "not closed"
    return next((why for _, inner in subschemas(schema) if (why := _refused_keyword(inner))), None)
