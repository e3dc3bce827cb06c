"""One file, from its document to a pack or to everything that is wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolcrib_core import SchemaError, ToolError, canonical_json, check_schema
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer
from toolcrib_core.wording import kind_of
from toolcrib_toolpacks.checks import body_faults, cross_faults, example_faults, file_faults, template_faults
from toolcrib_toolpacks.definitions import definition_of
from toolcrib_toolpacks.errors import ToolpackViolation
from toolcrib_toolpacks.file_shape import check_shape
from toolcrib_toolpacks.model import Toolpack, ToolpackFile, code_of
from toolcrib_toolpacks.refs import ResolvedSchema, resolve_schema, schema_faults
from toolcrib_toolpacks.source_files import Source, SourceFiles, file_beside
from toolcrib_toolpacks.yaml_reading import KeyPath

_SCHEMAS = ("inputSchema", "outputSchema")


class PackReading(NamedTuple):
    """What came of a file: a pack, or violations."""

    pack: Toolpack | None
    violations: tuple[ToolpackViolation, ...]


def read_pack(source: Source, *, root: Path, files: SourceFiles) -> PackReading:
    """The pack in a document."""
    violations = source.faults()
    if not source.document.is_whole:
        return PackReading(None, tuple(violations))
    value = source.document.value
    if not isinstance(value, dict):
        found = "is empty" if value is None else f"holds {kind_of(value)}"
        violations.append(source.violation((), "not-a-mapping", f"A tool file is a mapping; this one {found}."))
        return PackReading(None, tuple(violations))
    parts, faults = check_shape(value)
    faults += [*cross_faults(value, parts), *file_faults(parts, file=source.file, files=files)]
    resolved, problems = _resolved(source, value, files)
    input_schema = _schema_of(resolved, "inputSchema")
    faults += template_faults(parts, input_schema=input_schema)
    if input_schema is not None:
        faults += body_faults(parts, input_schema=input_schema)
    # What the YAML itself gets wrong is told once, not again as a value of the wrong kind.
    told = {each.path for each in source.document.faults}
    violations += [source.violation(each.path, each.code, each.message) for each in faults if each.path not in told]
    violations += problems
    if not violations and parts.whole is not None:
        return _made(source, parts.whole, resolved, root=root, files=files)
    return PackReading(None, (*violations, *_schema_violations(source, value, resolved, problems)))


def _made(
    source: Source, whole: ToolpackFile, resolved: Mapping[str, ResolvedSchema], *, root: Path, files: SourceFiles
) -> PackReading:
    schemas = {key: each.schema for key, each in resolved.items()}
    content = {**source.document.value, **schemas}
    digests = files.digests(file_beside(source.file, each) for each in code_of(whole.execution))
    shown = {**dict(whole), "input_schema": schemas["inputSchema"], "output_schema": schemas["outputSchema"]}
    plain = whole.model_copy(update=shown)
    try:
        # The digests without the names: where its folder lies is not part of what a pack does.
        content_hash = hashlib.sha256(canonical_json({"file": content, "code": [*digests.values()]})).hexdigest()
        definition = definition_of(plain, content_hash=content_hash)
    except ToolError as failure:
        # It checks the schemas; only where that fails, they are looked at again for places and lines.
        found = tuple(_schema_violations(source, content, resolved, ()))
        return PackReading(None, found or (source.violation((), "bad-definition", failure.message),))
    bad_examples = tuple(_example_violations(source, content))
    if bad_examples:
        return PackReading(None, bad_examples)
    shown |= {"input_schema": definition.input_schema, "output_schema": definition.output_schema}
    pack = Toolpack.model_construct(
        # As the author has them, so that what is the default is told from what is said.
        _fields_set=whole.model_fields_set,
        **shown,
        root=root,
        file=source.file,
        content_hash=content_hash,
        definition=definition,
    )
    return PackReading(pack, ())


def _schema_of(resolved: Mapping[str, ResolvedSchema], key: str) -> dict[str, Any] | None:
    return resolved[key].schema if key in resolved else None


def _resolved(
    source: Source, value: dict[str, Any], files: SourceFiles
) -> tuple[dict[str, ResolvedSchema], list[ToolpackViolation]]:
    """The schemas with what they refer to, and what is wrong with their references or with what they are about."""
    found: dict[str, ResolvedSchema] = {}
    violations: list[ToolpackViolation] = []
    for key in _SCHEMAS:
        if not isinstance(value.get(key), dict):
            continue
        resolved, problems = resolve_schema(source, (key,), files)
        if not problems and key == "inputSchema":
            if not _describes_object(resolved.schema, resolved.schema, frozenset()):
                problem = "must describe an object: say `type: object`."
                problems = (source.violation((key,), "input-not-object", problem),)
            elif "type" not in resolved.schema:
                # It follows from what is there; models and vendors look for it at the top.
                resolved = ResolvedSchema(schema={"type": "object", **resolved.schema}, origins=resolved.origins)
        violations += problems
        found[key] = resolved
    return found, violations


def _schema_violations(
    source: Source,
    value: Mapping[str, Any],
    resolved: Mapping[str, ResolvedSchema],
    problems: Sequence[ToolpackViolation],
) -> Iterator[ToolpackViolation]:
    """What is wrong with the schemas themselves, and with the examples if nothing is."""
    found = [each for schema in resolved.values() for each in _invalid_places(schema)]
    # A reference that was told of, perhaps by what is wrong in its file, stands in the schema as it was written.
    yield from (each for each in found if not (problems and each.path.endswith("$ref")))
    if len(resolved) == len(_SCHEMAS) and not found and not problems:
        schemas = {key: each.schema for key, each in resolved.items()}
        yield from _example_violations(source, {**value, **schemas})


def _example_violations(source: Source, content: Mapping[str, Any]) -> Iterator[ToolpackViolation]:
    schemas = {"input_schema": content["inputSchema"], "output_schema": content["outputSchema"]}
    for each in example_faults(content, **schemas):
        yield source.violation(each.path, each.code, each.message)


def _invalid_places(resolved: ResolvedSchema) -> Iterator[ToolpackViolation]:
    try:
        check_schema(resolved.schema)
    except SchemaError as failure:
        code, faults = schema_faults(failure)
    else:
        return
    for each in faults:
        source, path = resolved.origin(_keys(resolved.schema, split_pointer(each["pointer"])))
        yield source.violation(path, code, each["message"])


def _keys(value: Any, keys: list[str]) -> KeyPath:
    path: list[str | int] = []
    for key in keys:
        path.append(int(key) if isinstance(value, list) else key)
        value = look_up(value, [key])
    return tuple(path)


def _describes_object(schema: Any, root: dict[str, Any], seen: frozenset[str]) -> bool:
    """Whether everything that fits the schema is an object."""
    if not isinstance(schema, dict):
        return schema is False
    if schema.get("type") == "object":
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#") and reference not in seen:
        target = look_up(root, split_pointer(reference[1:]))
        if target is not MISSING and _describes_object(target, root, seen | {reference}):
            return True
    if any(_describes_object(each, root, seen) for each in _listed(schema, "allOf")):
        return True
    choices = [choice for key in ("anyOf", "oneOf") if (choice := _listed(schema, key))]
    return any(all(_describes_object(each, root, seen) for each in choice) for choice in choices)


def _listed(schema: dict[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []
