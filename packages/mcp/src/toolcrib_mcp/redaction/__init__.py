"""Taking secrets out of what servers answer, before anybody reads, keeps or logs it.

What is promised. Out of every result and every error of a tool, a resource, a prompt or a completion, out of what
servers list and say of themselves, and out of the logs, notices of progress and questions that they send are taken,
wherever they stand in the texts (of any kind of content, known or not; keys of objects; `_meta`; addresses; the message
and the data of an error):

- the secrets of this configuration: what stands under `env` and `headers`, in arguments and in URLs, in the plain and
  in the usual encodings (JSON, Python, URL, hexadecimal, base64, also inside longer base64). `configured_secrets` says
  which values count: those under a name that says so, and those that look like nothing but a secret. `production` and
  `us-east-1` do not, and nothing of fewer than six characters does;
- with `redact: known-formats` whatever else has the form of a secret, too, as `toolcrib_runtime.guards.secrets` knows
  them. That may also take what is none; bench/redaction.py measures how often it errs on either side.

Base64 (`blob`, or `data` beside a `mimeType`) is decoded and searched if it holds text; in what is binary only a secret
that stands there in plain is found.

What is not promised. A secret that was cut in two by its server (over two contents, two calls or two progress notices),
written as a number, or in an encoding that is not in the list, comes through: this stops accidents, and no server that
wants to give a secret away. Out of what servers list only the secrets of the configuration are taken: an example of a
secret in a description is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.redaction.configured import configured_secrets
    from toolcrib_mcp.redaction.redactor import Redacted, ResultRedactor

_HOMES = {
    "Redacted": "redactor",
    "ResultRedactor": "redactor",
    "configured_secrets": "configured",
}

__all__ = ["Redacted", "ResultRedactor", "configured_secrets"]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
