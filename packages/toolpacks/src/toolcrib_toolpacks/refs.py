"""Schemas that refer to files: made into one schema each, with what they refer to in its `$defs`.

A reference is relative to the file it stands in and stays beneath the root; no URL is ever fetched. What refers to
itself, directly or through other files, becomes a reference inside the schema, so nothing is ever unrolled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from toolcrib_core import SchemaError, SchemaTooComplex
from toolcrib_core.schema.check import upgrade_schema
from toolcrib_core.schema.dialect import Dialect, dialect_of
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer
from toolcrib_core.schema.rebuilding import with_subschemas
from toolcrib_core.schema.refs import SchemaIndex, SchemaNode
from toolcrib_core.wording import quoted
from toolcrib_toolpacks.errors import ToolpackViolation
from toolcrib_toolpacks.source_files import Source, SourceFiles, Unreadable, file_beside
from toolcrib_toolpacks.yaml_reading import KeyPath

MAX_TARGETS: Final = 500
"""How many places in files one schema may refer to."""

_SUFFIXES: Final = (".json", ".yaml", ".yml")
# Pointers and anchors lead to the rebuilt places, so these would say something else, or the same twice.
_LEFT_OUT: Final = frozenset({"$schema", "$id", "$anchor", "$defs", "definitions"})


@dataclass(frozen=True, kw_only=True)
class ResolvedSchema:
    """A schema without references to files; `origins` tells where its parts stand, by the keys that lead to them."""

    schema: dict[str, Any]
    origins: Mapping[KeyPath, tuple[Source, KeyPath]] = field(default_factory=dict)

    def origin(self, keys: KeyPath) -> tuple[Source, KeyPath]:
        """The file and the path there of a part of the schema."""
        best = max((each for each in self.origins if keys[: len(each)] == each), key=len)
        source, path = self.origins[best]
        return source, (*path, *keys[len(best) :])


@dataclass(frozen=True, kw_only=True)
class _Scope:
    """What a fragment alone refers to: the document `root`, which stands at `path` of a file."""

    source: Source
    root: dict[str, Any]
    path: KeyPath
    is_whole: bool
    """Whether the document stays at the top of the result, so that its own references may stay as they are."""


def resolve_schema(
    source: Source, path: KeyPath, files: SourceFiles
) -> tuple[ResolvedSchema, tuple[ToolpackViolation, ...]]:
    """The schema at a path of a document, with everything it refers to, and what is wrong with its references."""
    resolver = _Resolver(files)
    return resolver.resolve(source, path), tuple(dict.fromkeys(resolver.violations))


class _Resolver:
    """One schema on its way."""

    def __init__(self, files: SourceFiles) -> None:
        self.violations: list[ToolpackViolation] = []
        self._files = files
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self._waiting: list[tuple[str, _Scope, Any, KeyPath]] = []
        self._defs: dict[str, Any] = {}
        self._origins: dict[KeyPath, tuple[Source, KeyPath]] = {}
        self._scopes: dict[str, _Scope] = {}
        # An index keeps its document alive, so the number of one is not given to another.
        self._indexes: dict[int, SchemaIndex] = {}

    def resolve(self, source: Source, path: KeyPath) -> ResolvedSchema:
        schema = look_up(source.document.value, path)
        scope = _Scope(source=source, root=self._upgraded(source, path, schema) or {}, path=path, is_whole=True)
        scope = self._followed(scope)
        self._origins[()] = (scope.source, scope.path)
        own = scope.root.get("$defs")
        self._taken.update(own if isinstance(own, dict) else ())
        resolved = self._rebuilt(scope.root, scope, scope.path)
        while self._waiting:
            name, target_scope, target, target_path = self._waiting.pop(0)
            self._origins["$defs", name] = (target_scope.source, target_path)
            self._defs[name] = self._rebuilt(target, target_scope, target_path)
        if self._defs:
            own = resolved.get("$defs")
            resolved["$defs"] = {**(own if isinstance(own, dict) else {}), **self._defs}
        return ResolvedSchema(schema=resolved, origins=self._origins)

    def _followed(self, scope: _Scope) -> _Scope:
        """Where a schema is nothing but a reference to a whole file, that file in its place."""
        for _ in range(MAX_TARGETS):
            reference = scope.root.get("$ref")
            if set(scope.root) != {"$ref"} or not isinstance(reference, str):
                break
            uri, _, fragment = reference.partition("#")
            if not uri or fragment.strip("/"):
                break
            before = len(self.violations)
            target = self._document(uri, scope, scope.path)
            if target is None:
                # Told when the reference is rebuilt.
                del self.violations[before:]
                break
            self._names.setdefault((target.source.file, ""), "#")
            scope = target
        return _Scope(source=scope.source, root=scope.root, path=scope.path, is_whole=True)

    def _rebuilt(self, schema: Any, scope: _Scope, path: KeyPath) -> Any:
        if not isinstance(schema, dict):
            return schema
        rebuilt = with_subschemas(schema, lambda inner, keys: self._rebuilt(inner, scope, (*path, *keys)))
        reference = schema.get("$ref")
        if isinstance(reference, str):
            rebuilt["$ref"] = self._reference(reference, schema, scope, path)
        if scope.is_whole:
            return rebuilt
        if isinstance(schema.get("$dynamicRef"), str):
            self._tell(scope, (*path, "$dynamicRef"), "ref-dynamic", "`$dynamicRef` cannot be used across files.")
        if isinstance(schema.get("$id"), str) and schema is not scope.root:
            self._tell(scope, (*path, "$id"), "ref-id", "A `$id` inside a file that is referred to cannot be used.")
        return {key: value for key, value in rebuilt.items() if key not in _LEFT_OUT}

    def _reference(self, reference: str, schema: dict[str, Any], scope: _Scope, path: KeyPath) -> str:
        if scope.is_whole and self._stays(reference, schema, scope):
            return reference
        uri, _, fragment = reference.partition("#")
        where = (*path, "$ref")
        target_scope = self._document(uri, scope, where) if uri else self._own(scope)
        if target_scope is None:
            return reference
        key = (target_scope.source.file, unquote(fragment).rstrip("/"))
        if key not in self._names:
            found = self._target(target_scope, key[1])
            if found is None:
                self._tell(scope, where, "ref-missing", f"{quoted(reference)} leads to nothing.")
                return reference
            if len(self._names) >= MAX_TARGETS:
                self._tell(scope, where, "ref-too-many", f"A schema may refer to {MAX_TARGETS} places.")
                return reference
            name = self._new_name(*key)
            self._names[key] = f"#/$defs/{name}"
            self._waiting.append((name, target_scope, *found))
        return self._names[key]

    def _stays(self, reference: str, schema: dict[str, Any], scope: _Scope) -> bool:
        """Whether a reference leads to a place of the document that stays at the top of the result."""
        try:
            index = self._index(scope.root)
            node = index.node_of(schema)
            return node is not None and index.target(node, reference) is not None
        except ValueError:
            return False

    def _own(self, scope: _Scope) -> _Scope:
        """The scope of a fragment alone: in a pack, what its schema does not have may stand beside it in the file."""
        value = scope.source.document.value
        if scope.path and scope.is_whole and isinstance(value, dict):
            return _Scope(source=scope.source, root=value, path=(), is_whole=False)
        return _Scope(source=scope.source, root=scope.root, path=scope.path, is_whole=False)

    def _document(self, uri: str, scope: _Scope, where: KeyPath) -> _Scope | None:
        try:
            file = file_beside(scope.source.file, uri)
            source = self._files.source(file) if file.endswith(_SUFFIXES) else None
        except Unreadable as failure:
            self._tell(scope, where, failure.code, failure.message)
            return None
        if source is None:
            problem = f"{quoted(uri)} is not a schema: its name must end with `.json`, `.yaml` or `.yml`."
            self._tell(scope, where, "ref-type", problem)
            return None
        if file in self._scopes:
            return self._scopes[file]
        if source.document.faults:
            self.violations += source.faults()
            return None
        value = source.document.value
        if isinstance(value, bool):
            # A schema that is `true` or `false` has nothing in it that could be referred to.
            value = {} if value else {"not": {}}
        if not isinstance(value, dict):
            self._tell(scope, where, "ref-type", f"{quoted(uri)} is not a schema: it holds no mapping.")
            return None
        root = self._upgraded(source, (), value)
        if root is not None:
            self._scopes[file] = _Scope(source=source, root=root, path=(), is_whole=False)
        return self._scopes.get(file)

    def _upgraded(self, source: Source, path: KeyPath, schema: dict[str, Any]) -> dict[str, Any] | None:
        """The schema at a path of a file in draft 2020-12; None if it breaks the rules of an older dialect."""
        if dialect_of(schema) in {None, Dialect.DRAFT_2020_12}:
            return schema  # judged with everything that it refers to
        try:
            return upgrade_schema(schema)
        except SchemaError as failure:
            code, faults = schema_faults(failure)
            for each in faults:
                keys = _key_path(schema, split_pointer(each["pointer"]))
                self.violations.append(source.violation((*path, *keys), code, each["message"]))
            return None

    def _target(self, scope: _Scope, fragment: str) -> tuple[Any, KeyPath] | None:
        """The schema that a fragment leads to, and its path in the file."""
        for pointer in dict.fromkeys((fragment, re.sub(r"(^|/)definitions/", r"\1$defs/", fragment))):
            try:
                found = self._index(scope.root).target(self._index(scope.root).root, f"#{_slashed(scope, pointer)}")
            except ValueError:
                return None
            if isinstance(found, SchemaNode):
                return found.schema, (*scope.path, *_key_path(scope.root, split_pointer(found.pointer)))
            if found is not None:
                return found, scope.path
        return None

    def _index(self, root: dict[str, Any]) -> SchemaIndex:
        if id(root) not in self._indexes:
            self._indexes[id(root)] = SchemaIndex(root)
        return self._indexes[id(root)]

    def _new_name(self, file: str, fragment: str) -> str:
        stem = file.rpartition("/")[2].partition(".")[0]
        words = re.sub(r"[^A-Za-z0-9_]+", "_", fragment.rpartition("/")[2] or stem).strip("_") or "part"
        name, number = words, 1
        while name in self._taken:
            number += 1
            name = f"{words}_{number}"
        self._taken.add(name)
        return name

    def _tell(self, scope: _Scope, path: KeyPath, code: str, message: str) -> None:
        self.violations.append(scope.source.violation(path, code, message))


def schema_faults(failure: SchemaError) -> tuple[str, list[Any]]:
    """The code for a schema that cannot be used, and what is wrong at which of its places."""
    faults: Any = failure.details.get("violations") or [{"pointer": "", "message": failure.message}]
    return "schema-too-complex" if isinstance(failure, SchemaTooComplex) else "bad-schema", faults


def _slashed(scope: _Scope, fragment: str) -> str:
    """A fragment as a pointer; `a/b` is taken for `/a/b` unless it is the name of an anchor."""
    if not fragment or fragment.startswith("/"):
        return fragment
    return f"/{fragment}" if look_up(scope.root, fragment.split("/")) is not MISSING else fragment


def _key_path(value: Any, keys: list[str]) -> KeyPath:
    path: list[str | int] = []
    for key in keys:
        path.append(int(key) if isinstance(value, list) else key)
        value = look_up(value, [key])
    return tuple(path)
