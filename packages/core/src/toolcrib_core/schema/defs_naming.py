"""Names for generated definitions that come from their content: `Address_1f0a9c3b`.

Neither module names nor the order of imports nor hash seeds have a part in them, so equal content has an equal name in
every process and in every schema. Definitions may refer to each other in circles: a name is the hash of the definition
unfolded to a depth at which any two that differ have been told apart (colour refinement).
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from toolcrib_core.schema.ordering import order_schema
from toolcrib_core.schema.rebuilding import with_subschemas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PREFIX = "#/$defs/"
_HASH_LENGTH = 8
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")


def name_definitions(schema: Mapping[str, Any], *, titles: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The same schema with its `$defs` named by content and sorted, and the new name of each.

    `titles` gives each definition the readable part of its name. Definitions that nobody refers to are dropped.
    """
    definitions = {key: order_schema(each) for key, each in schema.get("$defs", {}).items()}
    root = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    reached = _reached(root, definitions)
    names = _names(definitions, titles, reached)
    renamed: dict[str, Any] = rename_refs(root, names.__getitem__)
    if reached:
        named = {names[key]: rename_refs(definitions[key], names.__getitem__) for key in reached}
        renamed["$defs"] = dict(sorted(named.items()))
    return renamed, names


def rename_refs(schema: Any, rename: Callable[[str], str]) -> Any:
    """A copy of the schema whose references to `$defs` have other names; data that looks like one stays."""
    if not isinstance(schema, dict):
        return schema
    renamed = with_subschemas(schema, lambda inner, _: rename_refs(inner, rename))
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith(_PREFIX):
        renamed["$ref"] = _PREFIX + rename(reference.removeprefix(_PREFIX))
    return renamed


def _names(definitions: Mapping[str, Any], titles: Mapping[str, str], reached: set[str]) -> dict[str, str]:
    def refined(colours: Mapping[str, str]) -> dict[str, str]:
        return {key: _hash([titles[key], rename_refs(definitions[key], colours.__getitem__)]) for key in reached}

    colourings = [dict.fromkeys(reached, ""), refined(dict.fromkeys(reached, ""))]
    while _classes(colourings[-1]) > _classes(colourings[-2]):
        colourings.append(refined(colourings[-1]))
    kinds = colourings[-1]
    sizes = {key: len({kinds[each] for each in _reached(definitions[key], definitions) | {key}}) for key in reached}
    # Two definitions from which n kinds can be reached are told apart after 2n rounds. The number of rounds must come
    # from the definition alone: beside other definitions it has to get the same name.
    while len(colourings) <= 2 * max(sizes.values(), default=0):
        colourings.append(refined(colourings[-1]))
    return {key: _name(titles[key], colourings[2 * sizes[key]][key]) for key in reached}


def _classes(colours: Mapping[str, str]) -> int:
    return len(set(colours.values()))


def _name(title: str, colour: str) -> str:
    return f"{_NOT_IN_NAMES.sub('_', title).strip('_') or 'Shape'}_{colour[:_HASH_LENGTH]}"


def _reached(schema: Any, definitions: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    open_schemas = [schema]
    while open_schemas:
        for key in sorted(_direct_refs(open_schemas.pop()) - found):
            found.add(key)
            open_schemas.append(definitions[key])
    return found


def _direct_refs(schema: Any) -> set[str]:
    keys: set[str] = set()

    def note(key: str) -> str:
        keys.add(key)
        return key

    rename_refs(schema, note)
    return keys


def _hash(definition: Any) -> str:
    # Not sorted again: the order of parameters is part of what the author said.
    return hashlib.sha256(json.dumps(definition, separators=(",", ":")).encode()).hexdigest()
