"""The servers in a client's configuration file: what each entry says, whichever client it was written for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_core.json_values import pointer_join
from toolcrib_core.wording import kind_of, listed, nearest, quoted
from toolcrib_mcp.config.entry_fields import EntryFields
from toolcrib_mcp.config.findings import Findings
from toolcrib_mcp.config.hiding import hidden_places
from toolcrib_mcp.config.templates import Template, TemplateFault, looks_like_variable, parse_template
from toolcrib_mcp.config.transports import HttpTransport, StdioTransport, Transport

SETTINGS_KEY: Final = "toolcrib"
"""Where our own settings stand in a client's file."""

# Claude, Cursor, Windsurf, Gemini and most others; VS Code; Zed.
_SERVER_KEYS: Final = ("mcpServers", "servers", "context_servers")
_KNOWN_KEYS: Final = (*_SERVER_KEYS, SETTINGS_KEY, "inputs", "$schema")
_KINDS: Final = {"stdio": "stdio", "local": "stdio"} | dict.fromkeys(
    ("http", "streamable-http", "streamableHttp"), "http"
)
# `url` is everybody's; Windsurf writes `serverUrl`, Gemini `httpUrl`.
_URL_KEYS: Final = ("url", "serverUrl", "httpUrl")
_SWITCHES: Final = ("type", "transport", "disabled", "enabled")
_KEYS: Final = {
    "stdio": frozenset({"command", "args", "env", "cwd", *_SWITCHES}),
    "http": frozenset({*_URL_KEYS, "headers", *_SWITCHES}),
}
# To ignore these would start the server without what its author gave it.
_REFUSED: Final = {
    "envFile": "Put the variables into `env`, as in `${NAME}`.",
    SETTINGS_KEY: "Put our settings under `toolcrib.servers` at the top of the file.",
}


@dataclass(frozen=True, kw_only=True)
class ServerEntry:
    """One server as a file describes it."""

    name: str
    place: str
    transport: Transport[Template]
    enabled: bool


def read_entries(
    document: object, findings: Findings, *, switched_off: Collection[str] = frozenset()
) -> list[ServerEntry]:
    """The servers of a document, in its order; what is wrong with any of them is noted.

    What is wrong with an entry that is switched off, there or by name, is only a warning, and the entry is left out.
    """
    if not isinstance(document, dict):
        findings.problem(f"The file holds {kind_of(document)}, not an object.", hint=_example())
        return []
    entries: dict[str, ServerEntry] = {}
    for place, name, raw in _named_entries(document, findings):
        entry = _read_entry(name, raw, place, findings, off=name in switched_off)
        if name in entries:
            findings.problem(f"The server {quoted(name)} is there twice.", place=place, hint="Rename one of them.")
        if entry is not None:
            entries[name] = entry
    _warn_of_unknown(document, findings)
    return list(entries.values())


def server_names(document: object) -> list[str] | None:
    """Every server that the document names, usable or not; None where it has no place for servers."""
    members = document if isinstance(document, dict) else {}
    tables = [members[key] for key in _SERVER_KEYS if key in members]
    return [name for table in tables if isinstance(table, dict) for name in table] if tables else None


def _named_entries(document: Mapping[str, Any], findings: Findings) -> Iterator[tuple[str, str, object]]:
    for key in _SERVER_KEYS:
        servers = document.get(key, {})
        if not isinstance(servers, dict):
            findings.problem(f"`{key}` is {kind_of(servers)}, not an object.", place=f"/{key}", hint=_example())
            continue
        for name, raw in servers.items():
            yield pointer_join(f"/{key}", name), name, raw


def _read_entry(name: str, raw: object, place: str, findings: Findings, *, off: bool) -> ServerEntry | None:
    before = len(findings.problems)
    if not isinstance(raw, dict):
        findings.problem(f"The server {quoted(name)} is {kind_of(raw)}, not an object.", place=place, hint=_example())
        return None
    fields = EntryFields(raw, owner=f"the server {quoted(name)}", place=place, findings=findings)
    enabled = _is_enabled(fields) and not off
    transport = _templates(_transport(fields), fields)
    if not name.strip():
        findings.problem("A server has an empty name.", place=place, hint="Give it a name.")
    sound = len(findings.problems) == before
    if not enabled:
        findings.demote(since=before)
    if transport is None or not sound:
        return None
    return ServerEntry(name=name, place=place, transport=transport, enabled=enabled)


def _is_enabled(fields: EntryFields) -> bool:
    disabled, enabled = fields.flag("disabled"), fields.flag("enabled")
    if disabled is not None and disabled == enabled:
        fields.problem("disabled", "`disabled` and `enabled` contradict each other", hint="Keep one of them.")
    return not disabled and enabled is not False


def _transport(fields: EntryFields) -> Transport[str] | None:
    for key, hint in _REFUSED.items():
        if key in fields.raw:
            fields.problem(key, f"`{key}` is not read here", hint=hint)
    kind = _kind(fields)
    if kind is None:
        return None
    _warn_of_ignored(fields, _KEYS[kind])
    if kind == "stdio":
        command = fields.text("command", required=True)
        args, env, cwd = fields.texts("args"), fields.variables("env"), fields.text("cwd")
        return None if command is None else StdioTransport(command=command, args=args, env=env, cwd=cwd)
    url, headers = fields.text(_url_key(fields), required=True), fields.named_texts("headers")
    return None if url is None else HttpTransport(url=url, headers=headers)


def _kind(fields: EntryFields) -> str | None:
    """`stdio` or `http`: what the entry says, or else what it has."""
    said = {key: text for key in ("type", "transport") if (text := fields.text(key)) is not None}
    has_command, has_url = "command" in fields.raw, any(key in fields.raw for key in _URL_KEYS)
    if has_command == has_url:
        which = "both a command and a URL" if has_command else "neither a command nor a URL"
        fields.problem("", f"it has {which}", hint="Give it `command`, or `url`.")
        return None
    kind = "stdio" if has_command else "http"
    for key, text in said.items():
        _check_kind(fields, key, text, kind)
    return kind


def _check_kind(fields: EntryFields, key: str, text: str, kind: str) -> None:
    if text.lower() == "sse":
        fields.problem(
            key,
            "the transport `sse` is not spoken: the protocol gave it up for streamable HTTP",
            hint="Use the server's streamable HTTP address (often `/mcp` in place of `/sse`), with the type `http`.",
        )
    elif text not in _KINDS:
        fields.problem(key, f"`{key}` is no transport that we know", hint="Use `stdio` or `http`.")
    elif _KINDS[text] != kind:
        needed = "a command" if _KINDS[text] == "stdio" else "a URL"
        fields.problem(key, f"`{key}` asks for {needed}, which is not there", hint=f"Leave `{key}` out, or correct it.")


def _url_key(fields: EntryFields) -> str:
    present = [key for key in _URL_KEYS if key in fields.raw]
    if len(present) > 1:
        fields.problem(present[1], f"it has more than one URL: {listed(present)}", hint="Keep one of them.")
    return present[0]


def _templates(transport: Transport[str] | None, fields: EntryFields) -> Transport[Template] | None:
    if transport is None:
        return None
    hidden = hidden_places(transport)

    def parse(place: str, text: str) -> Template:
        if looks_like_variable(text):
            fields.warn(place, "a text looks like a variable and is passed on as it is", hint="Write `${NAME}`.")
        try:
            return parse_template(text, hidden=place in hidden)
        except TemplateFault as fault:
            fields.fault(place, str(fault), hint=fault.hint)
            return Template(parts=(), hidden=True)

    return transport.map(parse)


def _warn_of_ignored(fields: EntryFields, known: frozenset[str]) -> None:
    ignored = [key for key in fields.raw if key not in known and key not in _REFUSED]
    if ignored:
        fields.warn("", f"these keys are not read: {listed(ignored)}")


def _warn_of_unknown(document: Mapping[str, Any], findings: Findings) -> None:
    unknown = [key for key in document if key not in _KNOWN_KEYS]
    if unknown:
        meant = next(filter(None, (nearest(key, _KNOWN_KEYS) for key in unknown)), None)
        hint = f"Was `{meant}` meant?" if meant else None
        findings.warn(f"These keys are not read: {listed(unknown)}.", hint=hint)


def _example() -> str:
    return 'Write `{"mcpServers": {"name": {"command": "…"}}}`.'
