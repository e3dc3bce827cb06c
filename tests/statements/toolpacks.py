"""The statements of document 000, Toolpack loader.

A key is a part of the document and a letter: 0 is its opening, 1 usage, 2 validation rules, 3 failure semantics, 4
testing.
"""

from __future__ import annotations

from tests.statements.statement import Statement

_TEXTS = {
    "0a": "Tools are declared in `*.tool.yaml` files, and found by that ending.",
    "0b": "A file becomes a strongly typed `Toolpack` object.",
    "0c": "Schemas are validated when the file is loaded, before any call.",
    "0d": "The keys of a file are in camelCase.",
    "0e": "The kinds of execution are those of the specification.",
    "0f": "Snapshots of what is loaded are deterministic.",
    "1a": "`ToolpackLoader` and `ToolpackValidationError` come from the module `loader` of the toolpacks.",
    "1b": "`ToolpackLoader()` needs no argument.",
    "1c": "`load_dir` takes a `Path`.",
    "1d": "`load_dir` walks the folder recursively.",
    "1e": "`load_dir` resolves `$ref` in `inputSchema` and `outputSchema`.",
    "1f": "Each schema is checked against the meta-schema of its own dialect.",
    "1g": "A failed load can be caught as `ToolpackValidationError` and printed.",
    "1h": "`list()` returns the loaded packs sorted by id.",
    "1i": "A pack has `id`, `execution` readable by key, and `timeout_ms`.",
    "1j": "`get(tool_id)` returns the pack with that id.",
    "1k": "`get(tool_id)` raises `KeyError` where there is none.",
    "2a": (
        "`id`, `version`, `deterministic`, `timeoutMs`, `limits`, `inputSchema`, `outputSchema` and `execution` are "
        "required."
    ),
    "2b": "`id` is dotted lower-case segments, as in `pkg.tool`.",
    "2c": "`version` follows semantic versioning.",
    "2d": "`version` is one that `packaging.Version` reads.",
    "2e": "`timeoutMs` is a positive integer.",
    "2f": "`limits.maxInputBytes` and `limits.maxOutputBytes` are there.",
    "2g": "`limits.maxInputBytes` and `limits.maxOutputBytes` are positive integers.",
    "2h": "`execution.kind` is `python`, `node`, `php`, `cli` or `http`.",
    "2i": "Any other kind of execution is refused.",
    "2j": "Python needs `module:callable`, or a `script` that is not empty.",
    "2k": "The `cmd` of a program is a list of strings.",
    "2l": "HTTP needs a `url`.",
    "2m": "HTTP may have headers, whose values are strings.",
    "2n": "HTTP may have a `method`, which is a string.",
    "2o": "Node needs `script`, `node` or `module`.",
    "2p": "PHP needs `php` or `script`.",
    "2q": "Of each id there is one pack; another one is refused.",
    "2r": "`caps`, `env` and `templating` are optional.",
    "2s": "`caps.network` holds `http` and `https` only.",
    "2t": "`caps.filesystem` holds lists of paths under `read` and `write`.",
    "2u": "`caps.subprocess` is a boolean.",
    "2v": "The names in `env.passthrough` are upper-case names of variables.",
    "2w": "The names in `env.set` are upper-case names of variables.",
    "2x": "`templating.engine` is `jinja2`.",
    "2y": "`templating.context` is JSON.",
    "2z": "The target of a `$ref` exists.",
    "2za": "The target of a `$ref` is a valid JSON Schema document.",
    "2zb": "A chain of `$ref` is resolved from file to file, each relative to the file that refers.",
    "2zc": "References are resolved before the schema is validated.",
    "3a": "Every violation raises `ToolpackValidationError`.",
    "3b": "No other exception leaves the loader.",
    "3c": "The message says the context: the file and the place in it.",
    "3d": "Malformed YAML is such a violation.",
    "3e": "A missing field is such a violation.",
    "3f": "A schema that is not valid is such a violation.",
    "3g": "A duplicate id is such a violation.",
    "3h": "An unsupported kind of execution is such a violation, and the message names it.",
    "3i": "If `load_dir` succeeds, every pack keeps to the specification.",
    "3j": "What is loaded can be relied on without validating it again: nothing of it can be changed.",
    "4a": "Tests load packs that keep to the specification, with schemas by `$ref`.",
    "4b": "Tests show that keys in snake_case are refused.",
    "4c": "Tests show that duplicate ids and missing fields are found.",
    "4d": "Tests show that the patterns of ids and versions are enforced.",
    "4e": "Tests show that unknown protocols, names of variables and template engines are refused.",
    "4f": "Tests show that only the listed kinds of execution are taken.",
    "4g": "Tests show that a schema of the wrong structure is refused.",
    "4h": "Property-based tests show that invalid values of `type` are refused.",
    "4i": "The tests run with every check of a change.",
}

_DEVIATIONS = {
    "1a": "the module is `toolcrib_toolpacks.loader`, and the package has both names, too",
    "2d": (
        "SemVer 2.0 decides: `v1.0.0` and `1.0` are refused, and `1.0.0-x.7.z.92` is taken, which `packaging` cannot "
        "read (TP-4)"
    ),
    "4i": "they run in `scripts/check`",
}

_SECTIONS = {
    "0": "Toolpack Loader",
    "1": "Usage",
    "2": "Validation Rules",
    "3": "Failure semantics",
    "4": "Testing",
}


STATEMENTS: tuple[Statement, ...] = tuple(
    Statement(id=f"D0-{key}", section=_SECTIONS[key[0]], text=text, deviation=_DEVIATIONS.get(key))
    for key, text in _TEXTS.items()
)
"""In the order of the document."""
