"""What `toolcrib toolpack new` writes: for each kind a commented file that loads, and the code that it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_HEAD: Final = """\
# A tool of toolcrib. Check it with `toolcrib toolpack lint`, try it with `toolcrib toolpack run`.
# Dotted lower-case segments. The tool is called `@TOOL@` everywhere.
id: @ID@
# SemVer, in quotes: YAML takes 1.10 for a number.
version: "0.1.0"
title: @TITLE@
# What models and search go by: say what it does, and when to use it.
description: Greets somebody by name.
tags: [example]
# Whether the same input always gives the same output; results of such a tool are remembered.
deterministic: true
# After this time the work is stopped, with all that it has started.
timeoutMs: 10000
# Bytes of JSON: the input is measured before the start, the output while it comes.
limits:
  maxInputBytes: 16384
  maxOutputBytes: 65536
# JSON Schema, here or in a file: `$ref: schemas/input.json`.
inputSchema:
  type: object
  properties:
    name: {type: string, minLength: 1, maxLength: 100, description: Who is greeted.}
  required: [name]
  additionalProperties: false
outputSchema:
  type: object
  properties:
    greeting: {type: string}
  required: [greeting]
# What a call may do; a careful gateway asks before it calls a tool of unknown effects.
risk:
  effects: none
  idempotent: true
  dataSensitivity: public
"""

_TAIL: Final = """\
# `toolcrib toolpack test` runs these calls, and searches for these requests.
examples:
  - request: greet Ada
    input: {name: Ada}
    output: {greeting: "Hello, Ada!"}
searchCases:
  - greet somebody by name
"""

_PYTHON: Final = """\
# A function of a module beside this file, kept warm in a process of its own.
# `script: @MODULE@.py` instead would start a process for each call: JSON on standard input, JSON on standard output.
execution:
  kind: python
  module: @MODULE@:greet
# What it may reach beyond its own code: nothing, unless it is said here.
# caps:
#   network: [https]
#   filesystem: {read: [data], write: [out]}
"""
_PYTHON_CODE: Final = '''\
"""The code of the tool @ID@."""


def greet(name):
    """Greet somebody; what is returned must fit the output schema."""
    return {"greeting": f"Hello, {name}!"}
'''

_NODE: Final = """\
# A module beside this file that exports a function, kept warm in a process of its own.
# `script: @NAME@.mjs` instead would start a process for each call: JSON on standard input, JSON on standard output.
execution:
  kind: node
  module: @NAME@.mjs
# What it may reach beyond its own code: nothing, unless it is said here.
# caps:
#   filesystem: {read: [data], write: [out]}
"""
_NODE_CODE: Final = """\
// The code of the tool @ID@; what is returned must fit the output schema.
export default function greet({ name }) {
  return { greeting: `Hello, ${name}!` };
}
"""

_PHP: Final = """\
# A script beside this file: JSON on standard input, JSON on standard output.
execution:
  kind: php
  script: @NAME@.php
# What it may reach beyond its own code: nothing, unless it is said here.
# caps:
#   filesystem: {read: [data], write: [out]}
"""
_PHP_CODE: Final = """\
<?php
// The code of the tool @ID@; what is printed must fit the output schema.
$input = json_decode(stream_get_contents(STDIN), true);
echo json_encode(["greeting" => "Hello, " . $input["name"] . "!"]);
"""

_CLI: Final = """\
# A program and its arguments, never a shell's line. Every item stays one item, whatever the value is.
# The input stands on standard input as JSON, and the program prints one JSON document.
# `input: text|form|args|none` and `output: text|lines|csv` say otherwise.
execution:
  kind: cli
  cmd: [printf, '{"greeting": "Hello, %s!"}', "{{ input.name }}"]
# What the program may reach: the files of the system, unless more is said here; `subprocess` lets it start others.
# caps:
#   filesystem: {read: [data], write: [out]}
#   subprocess: true
"""

_HTTP: Final = """\
# One request. POST, PUT and PATCH carry the input as JSON; path and query may be templates, and are escaped.
# `input: form|text|args|none`, `body` and `select: /data/items` shape what is sent and what is returned.
execution:
  kind: http
  method: POST
  url: @URL@
  # headers:
  #   Authorization: "Bearer {{ env.API_TOKEN }}"
# env:
#   passthrough: [API_TOKEN]
"""


class Beginning(NamedTuple):
    """The file of a tool, and the file with its code, if it has one."""

    pack: str
    code_suffix: str | None = None
    code: str = ""


BEGINNINGS: Final[Mapping[str, Beginning]] = {
    "python": Beginning(_HEAD + _PYTHON + _TAIL, ".py", _PYTHON_CODE),
    "node": Beginning(_HEAD + _NODE + _TAIL, ".mjs", _NODE_CODE),
    "php": Beginning(_HEAD + _PHP + _TAIL, ".php", _PHP_CODE),
    "cli": Beginning(_HEAD + _CLI + _TAIL),
    "http": Beginning(
        _HEAD.replace("Greets somebody by name.", "Asks a server to greet somebody.")
        .replace("deterministic: true", "deterministic: false")
        .replace("  effects: none\n  idempotent: true\n", "  effects: read\n")
        .replace(
            "  properties:\n    greeting: {type: string}\n  required: [greeting]\n",
            "  # The server's answer; say here what it looks like.\n",
        )
        + _HTTP
        + "searchCases:\n  - ask a server for a greeting\n"
    ),
}
