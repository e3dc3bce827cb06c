"""What the parts of a pack must be to each other: capabilities to kinds, templates to schemas, paths to the root."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolcrib_core import InvalidArguments, InvalidOutput, ToolError, parse_version, validate_value
from toolcrib_core.schema.pointers import split_pointer
from toolcrib_core.wording import nearest, quoted
from toolcrib_runtime.errors import BlockedAddress, InvalidUrl, JsonPathError
from toolcrib_runtime.json_paths import parse_json_path
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.file_shape import Parts, ShapeFault
from toolcrib_toolpacks.model import (
    Caps,
    CliExecution,
    EnvRules,
    Execution,
    HttpExecution,
    NodeExecution,
    PhpExecution,
    PythonExecution,
    templates_in,
)
from toolcrib_toolpacks.source_files import SourceFiles, Unreadable, file_beside
from toolcrib_toolpacks.template_rules import TemplateNames
from toolcrib_toolpacks.templating import TemplateUse, compile_template
from toolcrib_toolpacks.yaml_reading import KeyPath

LOADER_VARIABLES: Final = re.compile(
    r"LD_.*|DYLD_.*|PYTHON(PATH|HOME|STARTUP|INSPECT|WARNINGS|BREAKPOINT|USERBASE|PLATLIBDIR|EXECUTABLE|PYCACHEPREFIX)"
    r"|NODE_(OPTIONS|PATH|REPL_EXTERNAL_MODULE)|PHPRC|PHP_INI_SCAN_DIR|PERL5(LIB|OPT|DB)|RUBY(LIB|OPT)|BASH_ENV|ENV"
    r"|IFS|SHELLOPTS|BASHOPTS|PS4|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|MALLOC_.*|NLSPATH"
    r"|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|GIT_SSH(_COMMAND)?"
)
"""Variables that decide which code a program loads; no pack passes or sets them."""

_URL: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)")
_RESERVED: Final = ("toolpack", "searchCases")


def cross_faults(value: Mapping[str, Any], parts: Parts) -> Iterator[ShapeFault]:
    """Everything that is wrong between the well-formed parts of a document, but for its schemas and files."""
    yield from _version_faults(value.get("version"))
    if parts.execution is not None:
        yield from _choice_faults(parts.execution)
    if isinstance(parts.execution, HttpExecution):
        yield from _url_faults(parts.execution.url)
    if parts.env is not None:
        yield from _variable_faults(parts.env)
    metadata = value.get("metadata")
    for key in _RESERVED:
        if isinstance(metadata, dict) and key in metadata:
            yield ShapeFault(("metadata", key), "reserved-key", "is a key that toolcrib fills in itself.")


def file_faults(parts: Parts, *, file: str, files: SourceFiles) -> Iterator[ShapeFault]:
    """What is wrong with the paths that a pack names: those that lead out, and scripts that are not there."""
    caps = parts.caps or Caps()
    named = [
        (("caps", "filesystem", access, at), path)
        for access, paths in (("read", caps.filesystem.read), ("write", caps.filesystem.write))
        for at, path in enumerate(paths)
    ]
    for where, path in named:
        try:
            file_beside(file, path)
        except Unreadable as failure:
            yield ShapeFault(where, "outside-root", failure.message)
    for key, path in _scripts(parts.execution):
        try:
            files.digest(file_beside(file, path))
        except Unreadable as failure:
            yield ShapeFault(("execution", key), failure.code, failure.message)


def template_faults(parts: Parts, *, input_schema: Mapping[str, Any] | None) -> Iterator[ShapeFault]:
    """What is wrong with the templates."""
    names = template_names(parts, input_schema=input_schema)
    for path, text in templates_in(parts.execution, parts.templating).items():
        try:
            compile_template(text, use=use_of(path, parts.execution), names=names)
        except TemplateError as failure:
            yield ShapeFault(path, "template", str(failure))


def body_faults(parts: Parts, *, input_schema: Mapping[str, Any]) -> Iterator[ShapeFault]:
    """What is wrong with what is sent and with what is selected of the answer."""
    execution = parts.execution
    if not isinstance(execution, CliExecution | HttpExecution):
        return
    where: KeyPath = ("execution", "body")
    body, form, known = execution.body, execution.input, list(input_schema.get("properties", {}))
    if body is not None and (form == "none" or (form == "args" and isinstance(body, str))):
        wanted = "is of no use with `input: none`." if form == "none" else "must be a list of names with `input: args`."
        yield ShapeFault(where, "bad-execution", wanted)
    if form == "text" and not isinstance(body, str) and len(known if body is None else body) != 1:
        problem = "must be a template or one name with `input: text`, unless the input has one property."
        yield ShapeFault(where if body is not None else ("execution", "input"), "bad-execution", problem)
    for at, name in enumerate(body if isinstance(body, tuple) else ()):
        if name not in known:
            meant = nearest(name, known)
            question = f" Did you mean {quoted(meant)}?" if meant else ""
            problem = f"{quoted(name)} is no property of `inputSchema`.{question}"
            yield ShapeFault((*where, at), "unknown-property", problem)
    if isinstance(execution, HttpExecution) and execution.method in {"GET", "HEAD"} and form in {"text", "form"}:
        problem = f"{quoted(form)} is sent in a body, and {execution.method} has none; use `args`, or `method: POST`."
        yield ShapeFault(("execution", "input"), "bad-execution", problem)
    if execution.select is not None:
        yield from _select_faults(execution.select, execution.output)


def _select_faults(select: str, output: str) -> Iterator[ShapeFault]:
    where: KeyPath = ("execution", "select")
    if output == "text":
        yield ShapeFault(where, "bad-select", "is of no use with `output: text`, which has no parts.")
    elif select.startswith("$"):
        try:
            parse_json_path(select)
        except JsonPathError as failure:
            yield ShapeFault(where, "bad-select", failure.message)
    elif not select.startswith("/"):
        yield ShapeFault(
            where, "bad-select", "must be a JSON pointer, as in `/items/0`, or a JSONPath, as in `$.items[*]`."
        )


def example_faults(
    value: Mapping[str, Any], *, input_schema: Mapping[str, Any], output_schema: Mapping[str, Any]
) -> Iterator[ShapeFault]:
    """Examples that the schemas of the pack refuse."""
    examples = value.get("examples")
    for at, example in enumerate(examples if isinstance(examples, list) else ()):
        if not isinstance(example, dict) or "error" in example:
            continue
        for key, schema in (("input", input_schema), ("output", output_schema)):
            if key not in example:
                continue
            for each in _violations(schema, example[key], key):
                path: KeyPath = ("examples", at, key, *split_pointer(each["pointer"]))
                yield ShapeFault(path, "bad-example", f"does not fit the {key} schema: {each['message']}")


def _violations(schema: Mapping[str, Any], value: object, what: str) -> Sequence[Mapping[str, str]]:
    try:
        validate_value(schema, value, what=what)
    except (InvalidArguments, InvalidOutput) as failure:
        found: Sequence[Mapping[str, str]] = failure.details["violations"]  # type: ignore[assignment]  # JSON
        return found
    return ()


def template_names(parts: Parts, *, input_schema: Mapping[str, Any] | None) -> TemplateNames:
    """What the templates of a pack may refer to."""
    env = parts.env or EnvRules()
    return TemplateNames(
        context={} if parts.templating is None else parts.templating.context,
        env=frozenset(env.passthrough) | frozenset(env.assigned),
        inputs=_closed_properties(input_schema or {}),
    )


def use_of(path: KeyPath, execution: Execution | None) -> TemplateUse:
    """What a template at a path of a pack is rendered into."""
    match path:
        case ("execution", "body") if isinstance(execution, CliExecution | HttpExecution):
            return {"json": "json", "form": "form"}.get(execution.input, "text")  # type: ignore[return-value]  # of these
        case ("execution", "url"):
            return "url"
        case ("execution", "headers", _):
            return "header"
        case ("templating", _):
            return "key"
    return "argument"


def _closed_properties(schema: Mapping[str, Any]) -> frozenset[str] | None:
    properties = schema.get("properties")
    if schema.get("additionalProperties") is not False or not isinstance(properties, dict):
        return None
    return frozenset(properties)


def _version_faults(version: object) -> Iterator[ShapeFault]:
    if not isinstance(version, str) or parse_version(version) is not None:
        return
    bare = version.strip().removeprefix("v")
    advice = f"Write {quoted(bare)}." if parse_version(bare) else "Write three numbers, as in `1.0.0`."
    yield ShapeFault(("version",), "bad-version", f"{quoted(version)} is not a version by SemVer 2.0. {advice}")


def _choice_faults(execution: Execution) -> Iterator[ShapeFault]:
    choices = {
        PythonExecution: ("module", "script"),
        NodeExecution: ("script", "node", "module"),
        PhpExecution: ("php", "script"),
    }.get(type(execution), ())
    given = [key for key in choices if getattr(execution, key) is not None]
    if choices and len(given) != 1:
        options = ", ".join(f"`{each}`" for each in choices)
        said = "has none of them" if not given else f"has {' and '.join(f'`{each}`' for each in given)}"
        yield ShapeFault(("execution",), "bad-execution", f"must have exactly one of {options}, and {said}.")
    if isinstance(execution, PythonExecution) and execution.module is not None and execution.args:
        yield ShapeFault(("execution", "args"), "bad-execution", "is for a `script`; a function gets the input.")
    if isinstance(execution, CliExecution) and "{{" in execution.cmd[0]:
        problem = "names the program, which may not be a template."
        yield ShapeFault(("execution", "cmd", 0), "bad-execution", problem)


def _url_faults(url: str) -> Iterator[ShapeFault]:
    where: KeyPath = ("execution", "url")
    shape = _URL.match(url)
    if shape is None:
        yield ShapeFault(where, "bad-url", "must start with `https://` or `http://` and a host, without a template.")
        return
    scheme = shape["scheme"].lower()
    if scheme not in {"http", "https"}:
        yield ShapeFault(where, "bad-url", f"has the scheme {quoted(scheme)}; only `http` and `https` are requested.")
        return
    if any(mark in shape["authority"] for mark in ("{", "}", "%")):
        yield ShapeFault(where, "bad-url", "has a template in its host; only path and query may be templates.")
        return
    fault = _host_fault(f"{scheme}://{shape['authority']}/")
    if fault is not None:
        yield ShapeFault(where, "bad-url", fault)


def _host_fault(url: str) -> str | None:
    # Only here: a folder without http tools needs no HTTP client.
    from toolcrib_runtime.guards.net.grant import NetGrant
    from toolcrib_runtime.guards.net.urls import parse_url

    try:
        parse_url(url, NetGrant(allow_http=True))
    except InvalidUrl as failure:
        return failure.message
    except BlockedAddress:
        # Whether an address on this machine or network may be reached is for whoever runs the tool to say.
        return None
    except ToolError as failure:
        return failure.message
    return None


def _variable_faults(env: EnvRules) -> Iterator[ShapeFault]:
    named: list[tuple[KeyPath, str]] = [(("env", "passthrough", at), name) for at, name in enumerate(env.passthrough)]
    named += [(("env", "set", name), name) for name in env.assigned]
    for path, name in named:
        if LOADER_VARIABLES.fullmatch(name):
            problem = f"{quoted(name)} decides which code a program loads, and no tool may have it."
            yield ShapeFault(path, "loader-variable", problem)
    for name in env.assigned:
        if name in env.passthrough:
            yield ShapeFault(
                ("env", "set", name), "variable-twice", f"{quoted(name)} is passed on and set; choose one."
            )


def _scripts(execution: Execution | None) -> Iterator[tuple[str, str]]:
    for key in ("script", "node", "php", "module"):
        path = getattr(execution, key, None)
        if path is not None and not (key == "module" and isinstance(execution, PythonExecution)):
            yield key, path.partition(":")[0] if key == "module" else path
