"""The servers in a client's configuration file: what each entry says, whichever client it was written for."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

from toolcrib_core.json_values import FrozenDict, pointer_join
from toolcrib_core.wording import kind_of, listed, nearest, quoted
from toolcrib_mcp.config.entry_fields import EntryFields
from toolcrib_mcp.config.files import read_env_file
from toolcrib_mcp.config.findings import Findings
from toolcrib_mcp.config.hiding import hidden_places
from toolcrib_mcp.config.templates import Template, TemplateFault, escaped, looks_like_variable, parse_template, reveal
from toolcrib_mcp.config.transports import HttpTransport, StdioTransport, Transport
from toolcrib_mcp.errors import ConfigError

SETTINGS_KEY: Final = "toolcrib"
"""Where our own settings stand in a client's file."""

# Claude, Cursor, Windsurf, Gemini and most others; VS Code; Zed.
_SERVER_KEYS: Final = ("mcpServers", "servers", "context_servers")
_KNOWN_KEYS: Final = (*_SERVER_KEYS, SETTINGS_KEY, "inputs", "$schema")
_KINDS: Final = {"stdio": "stdio", "local": "stdio"} | dict.fromkeys(
    ("http", "streamable-http", "streamableHttp", "sse"), "http"
)
# `url` is everybody's; Windsurf writes `serverUrl`, Gemini `httpUrl`.
_URL_KEYS: Final = ("url", "serverUrl", "httpUrl")
_SWITCHES: Final = ("type", "transport", "disabled", "enabled")
_KEYS: Final = {
    "stdio": frozenset({"command", "args", "env", "envFile", "cwd", *_SWITCHES}),
    "http": frozenset({*_URL_KEYS, "headers", *_SWITCHES}),
}
# Where these have a project's servers, the project is the folder above.
_FOLDERS_OF_EDITORS: Final = frozenset({".cursor", ".gemini", ".vscode", ".zed"})
_PLACE: Final = re.compile(r"\$\{([^{}]*)\}")
_SPACE: Final = re.compile(r"\s")
# To ignore these would start the server without what its author gave it.
_REFUSED: Final = {
    SETTINGS_KEY: "Put our settings under `toolcrib.servers` at the top of the file.",
}


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the texts of a file may refer to."""

    folder: Path
    """Where relative paths begin."""
    environ: Mapping[str, str]
    places: Mapping[str, str]
    """By the name that editors have for it: `workspaceFolder` is the folder of the file, or of the editor's folder."""

    @classmethod
    def of(cls, file: Path, environ: Mapping[str, str]) -> Self:
        """Those of an absolute path of a configuration."""
        folder = file.parent
        workspace = folder.parent if folder.name in _FOLDERS_OF_EDITORS else folder
        places = {
            "workspaceFolder": str(workspace),
            "workspaceFolderBasename": workspace.name,
            "pathSeparator": os.sep,
            "/": os.sep,
        }
        home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111  # `Path.home` raises where there is none
        return cls(folder=folder, environ=environ, places=places | ({} if home == "~" else {"userHome": home}))


@dataclass(frozen=True, kw_only=True)
class ServerEntry:
    """One server as a file describes it."""

    name: str
    place: str
    transport: Transport[Template]
    enabled: bool


def read_entries(
    document: object, findings: Findings, around: Surroundings, *, switched_off: Collection[str] = frozenset()
) -> list[ServerEntry]:
    """The servers of a document, in its order; what is wrong with any of them is noted.

    What is wrong with an entry that is switched off, there or by name, is only a warning, and the entry is left out.
    """
    if not isinstance(document, dict):
        findings.problem(f"The file holds {kind_of(document)}, not an object.", hint=_example())
        return []
    entries: dict[str, ServerEntry] = {}
    names: set[str] = set()
    for place, name, raw in _named_entries(document, findings):
        if name in names:
            findings.warn(
                f"The server {quoted(name)} is there twice, and the first one counts.",
                place=place,
                hint="Rename one of them.",
            )
            continue
        names.add(name)
        entry = _read_entry(name, raw, place, findings, around, off=name in switched_off)
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


def _read_entry(
    name: str, raw: object, place: str, findings: Findings, around: Surroundings, *, off: bool
) -> ServerEntry | None:
    before = len(findings.problems)
    if not isinstance(raw, dict):
        findings.problem(f"The server {quoted(name)} is {kind_of(raw)}, not an object.", place=place, hint=_example())
        findings.blame(name, since=before)
        return None
    fields = EntryFields(raw, owner=f"the server {quoted(name)}", place=place, findings=findings)
    enabled = _is_enabled(fields) and not off
    transport = _templates(_transport(fields, around), fields, around)
    if not name.strip():
        findings.problem("A server has an empty name.", place=place, hint="Give it a name.")
    sound = len(findings.problems) == before
    if enabled:
        findings.blame(name, since=before)
    else:
        findings.demote(since=before)
    if transport is None or not sound:
        return None
    return ServerEntry(name=name, place=place, transport=transport, enabled=enabled)


def _is_enabled(fields: EntryFields) -> bool:
    disabled, enabled = fields.flag("disabled"), fields.flag("enabled")
    if disabled is not None and disabled == enabled:
        fields.problem("disabled", "`disabled` and `enabled` contradict each other", hint="Keep one of them.")
    return not disabled and enabled is not False


def _transport(fields: EntryFields, around: Surroundings) -> Transport[str] | None:
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
        more = _of_env_file(fields, around)
        if command is None:
            return None
        command, *before = _words_of(command, fields, around)
        return StdioTransport(command=command, args=(*before, *args), env=FrozenDict({**more, **env}), cwd=cwd)
    url, headers = fields.text(_url_key(fields), required=True), fields.named_texts("headers")
    return None if url is None else HttpTransport(url=url, headers=headers, protocol=_protocol(fields))


def _words_of(command: str, fields: EntryFields, around: Surroundings) -> list[str]:
    """The command, and the arguments that stand in the same text, as in `npx some-server`.

    A program whose path has a space in it is one word.
    """
    plain = _PLACE.sub(lambda each: around.places.get(each[1], each[0]), command)
    if not _SPACE.search(_PLACE.sub("", command)) or shutil.which(plain, path=around.environ.get("PATH")):
        return [command]
    try:
        return shlex.split(command) or [command]
    except ValueError:
        fields.problem("command", "`command` has quotes that are not closed", hint="Put the arguments into `args`.")
        return [command]


def _of_env_file(fields: EntryFields, around: Surroundings) -> Mapping[str, str]:
    """The variables in the file that `envFile` names, as texts that have no variable."""
    written = fields.text("envFile")
    if written is None:
        return {}
    try:
        template = parse_template(written, hidden=False, places=around.places)
        path = around.folder / Path(reveal(template.filled(around.environ))).expanduser()
        return {name: escaped(value) for name, value in read_env_file(path).items()}
    except TemplateFault as fault:
        fields.fault("/envFile", str(fault), hint=fault.hint)
    except ConfigError as error:
        sentence = error.message.replace("The configuration", "The file", 1)
        fields.fault(
            "/envFile", sentence, hint=(error.hint if "line" in error.details else None) or "Correct the path."
        )
    return {}


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
    if text not in _KINDS:
        fields.problem(key, f"`{key}` is no transport that we know", hint="Use `stdio`, `http` or `sse`.")
    elif _KINDS[text] != kind:
        needed = "a command" if _KINDS[text] == "stdio" else "a URL"
        fields.problem(key, f"`{key}` asks for {needed}, which is not there", hint=f"Leave `{key}` out, or correct it.")


def _protocol(fields: EntryFields) -> Literal["streamable-http", "sse"] | None:
    """The transport that an entry with a URL names; Gemini names one by its key."""
    named = {fields.text(key) for key in ("type", "transport")} - {None}
    if "sse" in named:
        return "sse"
    return "streamable-http" if named or "httpUrl" in fields.raw else None


def _url_key(fields: EntryFields) -> str:
    present = [key for key in _URL_KEYS if key in fields.raw]
    if len(present) > 1:
        fields.problem(present[1], f"it has more than one URL: {listed(present)}", hint="Keep one of them.")
    return present[0]


def _templates(
    transport: Transport[str] | None, fields: EntryFields, around: Surroundings
) -> Transport[Template] | None:
    if transport is None:
        return None
    hidden = hidden_places(transport)

    def parse(place: str, text: str) -> Template:
        if looks_like_variable(text):
            fields.warn(place, "a text looks like a variable and is passed on as it is", hint="Write `${NAME}`.")
        try:
            return parse_template(text, hidden=place in hidden, public=hidden.get(place, 0), places=around.places)
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
