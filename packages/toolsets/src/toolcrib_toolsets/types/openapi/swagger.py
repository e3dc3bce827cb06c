"""Documents of version 2.0 (Swagger), part by part in the form of 3.0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_toolsets.types.openapi.operations import OperationRefused

FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

# What is no schema in a parameter that is not the body; all else in it is one.
_BESIDE_SCHEMA: Final = frozenset(
    {"name", "in", "description", "required", "collectionFormat", "allowEmptyValue", "deprecated"}
)
_QUERY_STYLES: Final = {"csv": "form", "ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_OTHER_STYLES: Final = {**_QUERY_STYLES, "csv": "simple"}


def servers_of(root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`host`, `basePath` and `schemes` as servers; https comes first."""
    host, path = root.get("host"), root.get("basePath")
    base = path.rstrip("/") if isinstance(path, str) else ""
    if not isinstance(host, str) or not host:
        return [{"url": base}] if base else []
    given = root.get("schemes")
    schemes = [each for each in given if each in ("https", "http")] if isinstance(given, list) else []
    return [{"url": f"{each}://{host}{base}"} for each in sorted(schemes or ["https"], reverse=True)]


def security_schemes_of(root: Mapping[str, Any]) -> dict[str, Any]:
    """`securityDefinitions` as security schemes."""
    given = root.get("securityDefinitions")
    return {
        name: {"type": "http", "scheme": "basic"} if isinstance(each, dict) and each.get("type") == "basic" else each
        for name, each in (given.items() if isinstance(given, dict) else ())
    }


def rewrite_parameters(
    parameters: Iterable[Mapping[str, Any]], consumes: object
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The parameters of an operation, and the body that some of them make up.

    Raises:
        OperationRefused: They contradict each other, or 3.0 has no form for one.
    """
    kept: list[dict[str, Any]] = []
    form: list[Mapping[str, Any]] = []
    body: Mapping[str, Any] | None = None
    for each in parameters:
        match each.get("in"):
            case "body" if body is not None:
                raise OperationRefused("it has two bodies")
            case "body":
                body = each
            case "formData":
                form.append(each)
            case _:
                kept.append(_parameter(each))
    types = [each for each in consumes if isinstance(each, str)] if isinstance(consumes, list) else []
    if body is not None and form:
        raise OperationRefused("it has a body and form fields at once")
    if body is not None:
        content = {each: {"schema": body.get("schema", {})} for each in types or ["application/json"]}
        about = {name: body[name] for name in ("description", "required") if name in body}
        return kept, {**about, "content": content}
    return kept, _form_body(form, types) if form else None


def _parameter(given: Mapping[str, Any]) -> dict[str, Any]:
    written = _QUERY_STYLES if given.get("in") == "query" else _OTHER_STYLES
    about = {name: value for name, value in given.items() if name in _BESIDE_SCHEMA and name != "collectionFormat"}
    return {**about, **_style(given, written), "schema": _schema(given)}


def _form_body(fields: Iterable[Mapping[str, Any]], types: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    encoding: dict[str, Any] = {}
    has_file = False
    for each in fields:
        name = each.get("name")
        if not isinstance(name, str):
            raise OperationRefused("a form field of it has no name")
        has_file = has_file or each.get("type") == "file"
        properties[name] = _schema(each)
        if isinstance(each.get("description"), str):
            properties[name]["description"] = each["description"]
        if each.get("required") is True:
            required.append(name)
        if each.get("type") == "array":
            encoding[name] = _style(each, _QUERY_STYLES)
    schema = {"type": "object", "properties": properties, "additionalProperties": False, "required": required}
    media_type = MULTIPART if has_file or (MULTIPART in types and FORM not in types) else FORM
    return {"required": bool(required), "content": {media_type: {"schema": schema, "encoding": encoding}}}


def _style(given: Mapping[str, Any], styles: Mapping[str, str]) -> dict[str, Any]:
    if given.get("type") != "array":
        return {}
    chosen = given.get("collectionFormat", "csv")
    if chosen == "multi" and styles is _QUERY_STYLES:
        return {"style": "form", "explode": True}
    if not isinstance(chosen, str) or chosen not in styles:
        raise OperationRefused(f"{quoted(str(given.get('name')))} has the collectionFormat {quoted(str(chosen))}")
    return {"style": styles[chosen], "explode": False}


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    items = given.get("items")
    if isinstance(items, dict) and items.get("type") == "array":
        raise OperationRefused(
            f"{quoted(str(given.get('name')))} is an array of arrays, which has no form outside a body"
        )
    return {name: value for name, value in given.items() if name not in _BESIDE_SCHEMA}
