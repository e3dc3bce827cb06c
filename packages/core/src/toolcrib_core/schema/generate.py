"""JSON Schema from Python types: closed objects, no noise, stable names, and a list of what was lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import DefsRef, GenerateJsonSchema
from pydantic_core import PydanticOmit, PydanticSerializationError

from toolcrib_core.errors import NotJson
from toolcrib_core.json_values import freeze
from toolcrib_core.schema.defs_naming import name_definitions
from toolcrib_core.schema.lossy import MARK, lossy_features, marked, notice, take_marks
from toolcrib_core.schema.ordering import order_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic.json_schema import JsonSchemaMode
    from pydantic_core import core_schema

    from toolcrib_core.definition import LossyFeature


@dataclass(frozen=True, kw_only=True)
class GeneratedSchema:
    """A JSON Schema and what it could not say; pointers lead into the schema."""

    schema: Mapping[str, Any]
    lossy: tuple[LossyFeature, ...] = ()


def generate_schema(source: core_schema.CoreSchema, *, mode: JsonSchemaMode) -> GeneratedSchema:
    """The JSON Schema of one type; a reference at its top is replaced by what it refers to.

    Raises:
        PydanticInvalidForJsonSchema: The type has no JSON form.
    """
    [schema], definitions, titles = _generate([source], mode)
    return _finished(schema, definitions, titles)


def generate_object_schema(parts: Sequence[core_schema.CoreSchema]) -> GeneratedSchema:
    """One JSON Schema of an object that has the properties of all parts, each of which describes an object.

    Raises:
        PydanticInvalidForJsonSchema: A type has no JSON form.
    """
    schemas, definitions, titles = _generate(parts, "validation")
    whole: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    for part in schemas:
        whole["properties"].update(part.get("properties", {}))
        whole["required"] += part.get("required", [])
        if (additional := part.get("additionalProperties", True)) is not False:
            whole["additionalProperties"] = additional
        whole = marked(whole, part.get(MARK, ()))
    if not whole["required"]:
        del whole["required"]
    return _finished(whole, definitions, titles)


class _Generator(GenerateJsonSchema):
    """pydantic's generator, with marks for what is lost and without what only repeats names."""

    def __init__(self) -> None:
        super().__init__()
        self.class_names: dict[DefsRef, str] = {}
        self._keys: dict[tuple[str, str], DefsRef] = {}
        self._notices: list[str] = []

    def generate_inner(self, schema: Any) -> dict[str, Any]:
        outer, self._notices = self._notices, []
        try:
            generated = super().generate_inner(schema)
            noticed = filter(None, map(notice, self._notices))
        except PydanticOmit:
            outer += self._notices
            raise
        finally:
            self._notices = outer
        features = [*lossy_features(schema, self.mode), *noticed]
        if "ref" in schema and (key := self.json_to_defs_refs.get(generated.get("$ref", ""))) in self.definitions:
            self.definitions[key] = marked(self.definitions[key], features)
            return generated
        return marked(generated, features)

    def emit_warning(self, kind: str, detail: str) -> None:  # noqa: ARG002  # pydantic's signature
        self._notices.append(kind)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002  # pydantic's signature
        return False

    def field_is_present(self, field: Any) -> bool:
        return field.get("init", True) is not False if self.mode == "validation" else super().field_is_present(field)

    def get_defs_ref(self, core_mode_ref: Any) -> DefsRef:
        if core_mode_ref not in self._keys:
            name = _class_name(core_mode_ref[0])
            key = DefsRef(f"{name}.{len(self._keys)}")
            self._keys[core_mode_ref], self.class_names[key] = key, name
            # No shorter name to choose from: the final names come from the content.
            self._prioritized_defsref_choices[key] = [key]
        return self._keys[core_mode_ref]

    def encode_default(self, dft: Any) -> Any:
        if _is_orderless(dft):
            raise PydanticSerializationError("the order of a set differs between processes")
        encoded = super().encode_default(dft)
        try:
            freeze(encoded)
        except NotJson as failure:
            raise PydanticSerializationError(failure.message) from None
        return encoded

    def get_flattened_anyof(self, schemas: list[dict[str, Any]]) -> dict[str, Any]:
        # pydantic compares and counts keys here, which marks would upset.
        marks: list[tuple[str, str]] = []
        members: list[dict[str, Any]] = []
        for schema in schemas:
            nested = schema.keys() - {MARK} == {"anyOf"}
            marks += schema.get(MARK, ()) if nested else ()
            for member in schema["anyOf"] if nested else [schema]:
                _add_member(members, member)
        return marked(members[0] if len(members) == 1 else {"anyOf": members}, marks)

    def model_schema(self, schema: Any) -> dict[str, Any]:
        generated = super().model_schema(schema)
        return generated if schema.get("root_model") else self._closed(generated, schema["cls"].model_config)

    def typed_dict_schema(self, schema: Any) -> dict[str, Any]:
        return self._closed(super().typed_dict_schema(schema), getattr(schema.get("cls"), "__pydantic_config__", {}))

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        return self._closed(super().dataclass_schema(schema), getattr(schema["cls"], "__pydantic_config__", {}))

    def str_schema(self, schema: Any) -> dict[str, Any]:
        generated = super().str_schema(schema)
        if "pattern" in generated and not _is_portable(schema["pattern"]):
            self._notices.append("pattern")
            del generated["pattern"]
        return generated

    def default_schema(self, schema: Any) -> dict[str, Any]:
        try:
            return super().default_schema(schema)
        except PydanticInvalidForJsonSchema:
            self._notices.append("arbitrary-field")
            raise PydanticOmit from None

    def is_instance_schema(self, schema: Any) -> dict[str, Any]:
        if self.mode == "validation":
            return super().is_instance_schema(schema)
        self._notices.append("arbitrary-type")
        return {}

    def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def function_plain_schema(self, schema: Any) -> dict[str, Any]:
        try:
            return super().function_plain_schema(schema)
        except PydanticInvalidForJsonSchema:
            self._notices.append("arbitrary-type")
            return {}

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        generated = super().tagged_union_schema(schema)
        # OpenAPI's, not JSON Schema's; the alternatives say the same with `const`.
        generated.pop("discriminator", None)
        return generated

    def _closed(self, generated: dict[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
        if self.mode == "validation" and "extra" not in config:
            generated.setdefault("additionalProperties", False)
        return generated


def _generate(
    sources: Sequence[core_schema.CoreSchema], mode: JsonSchemaMode
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, str]]:
    generator = _Generator()
    generated, named = generator.generate_definitions([(index, mode, each) for index, each in enumerate(sources)])
    if any(key not in generator.definitions for key in generator.json_to_defs_refs.values()):
        # pydantic leaves the reference of a recursive type dangling when the type itself failed.
        raise PydanticInvalidForJsonSchema("a recursive type has no JSON form")
    titles = {str(key): name for key, name in generator.class_names.items()}
    definitions: dict[str, Any] = {}
    for key, schema in named.items():
        repeats = schema.get("title") == titles[key]
        definitions[key] = {name: schema[name] for name in schema if name != "title"} if repeats else schema
    return [_without_top_reference(each, definitions) for each in generated.values()], definitions, titles


def _without_top_reference(schema: dict[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        siblings = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        target = definitions[schema["$ref"].removeprefix("#/$defs/")]
        schema = marked({**target, **siblings}, target.get(MARK, ()))
    return schema


def _finished(root: dict[str, Any], definitions: dict[str, Any], titles: dict[str, str]) -> GeneratedSchema:
    clean, lossy = take_marks({**root, "$defs": definitions})
    named, names = name_definitions(clean, titles=titles)
    renamed = dict.fromkeys(found for each in lossy if (found := _at_new_name(each, names)) is not None)
    return GeneratedSchema(schema=order_schema(named), lossy=tuple(renamed))


def _at_new_name(feature: LossyFeature, names: Mapping[str, str]) -> LossyFeature | None:
    if not feature.pointer.startswith("/$defs/"):
        return feature
    key, slash, rest = feature.pointer.removeprefix("/$defs/").partition("/")
    if key not in names:
        return None
    return feature.model_copy(update={"pointer": f"/$defs/{names[key]}{slash}{rest}"})


def _add_member(members: list[dict[str, Any]], member: dict[str, Any]) -> None:
    bare = _unmarked(member)
    for index, known in enumerate(members):
        if _unmarked(known) == bare:
            members[index] = marked(known, member.get(MARK, ()))
            return
    members.append(member)


def _unmarked(schema: dict[str, Any]) -> dict[str, Any]:
    return {keyword: value for keyword, value in schema.items() if keyword != MARK}


def _is_orderless(value: Any) -> bool:
    if isinstance(value, AbstractSet):
        return len(value) > 1
    if isinstance(value, Mapping):
        return any(map(_is_orderless, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_is_orderless, value))
    fields = isinstance(value, BaseModel) or is_dataclass(value)
    return fields and any(map(_is_orderless, vars(value).values()))


def _class_name(core_ref: str) -> str:
    """`Page[int]` from `shop.models.Page:94123[int:94001]`."""
    parts = (part.rsplit(":", 1)[0].rsplit(".", 1)[-1] for part in re.split(r"([\][,])", core_ref))
    return "".join(parts)


def _is_portable(pattern: str | re.Pattern[str]) -> bool:
    if isinstance(pattern, re.Pattern):
        if pattern.flags & ~re.UNICODE:
            return False
        pattern = pattern.pattern
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except ValueError:
        return False
    return True
