"""What a `*.tool.yaml` file says, as frozen data; `Toolpack` is one that was loaded.

Every path in a pack (`script`, `caps.filesystem`) is relative to the folder its file lies in, and stays beneath the
root that was loaded. Texts that may hold templates (`cmd`, `args`, `url`, `headers`, `body`, `cacheKey`) are kept as
they are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_core.json_values import FrozenDict, freeze, freeze_object

ExecutionKind: TypeAlias = Literal["python", "node", "php", "cli", "http"]
HttpMethod: TypeAlias = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
InputForm: TypeAlias = Literal["json", "text", "args", "form", "none"]
OutputForm: TypeAlias = Literal["json", "text", "lines", "csv"]
NetworkScheme: TypeAlias = Literal["http", "https"]

MAX_TIMEOUT_MS: Final = 24 * 60 * 60 * 1000
MAX_LIMIT_BYTES: Final = 1024 * 1024 * 1024

ID_PATTERN: Final = r"^[a-z0-9]+(?:[_-]+[a-z0-9]+)*(?:\.[a-z0-9]+(?:[_-]+[a-z0-9]+)*)+$"
MODULE_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
VARIABLE_PATTERN: Final = r"^[A-Z_][A-Z0-9_]*$"
HEADER_PATTERN: Final = r"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$"


def _frozen_object(value: object) -> FrozenDict:
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", "must be a mapping")
    return freeze_object(value)


def _template_or_names(value: object) -> str | tuple[str, ...]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise PydanticCustomError("body_type", "must be a template, or a list of names of properties")


_Text = Annotated[str, Field(max_length=100_000)]
_Filled = Annotated[str, Field(min_length=1, max_length=8_192)]
_Variable = Annotated[str, Field(pattern=VARIABLE_PATTERN, max_length=128)]
_Header = Annotated[str, Field(pattern=HEADER_PATTERN, max_length=128)]
_Milliseconds = Annotated[int, Field(gt=0, le=MAX_TIMEOUT_MS)]
_Bytes = Annotated[int, Field(gt=0, le=MAX_LIMIT_BYTES)]
# Plain validators: pydantic's own dict validation would copy the frozen value into a plain dict.
_JsonObject = Annotated[dict[str, Any], PlainValidator(_frozen_object), WithJsonSchema({"type": "object"})]
_Json = Annotated[Any, PlainValidator(freeze), WithJsonSchema({})]
_Body = Annotated[
    str | tuple[str, ...],
    PlainValidator(_template_or_names),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
            ]
        }
    ),
]
_Schema = Annotated[
    dict[str, Any],
    PlainValidator(_frozen_object),
    WithJsonSchema({"type": "object", "description": "A JSON Schema; `$ref` may name a file beneath the root."}),
]


class Section(BaseModel):
    """A part of a pack: frozen, closed, and readable by the keys of the file, as in `pack.execution["kind"]`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, validate_default=False
    )

    def __getitem__(self, key: str) -> object:
        for name, field in type(self).model_fields.items():
            if field.alias == key:
                return getattr(self, name)
        raise KeyError(key)


class Limits(Section):
    """How much may go in and come out, in bytes of JSON."""

    max_input_bytes: _Bytes
    max_output_bytes: _Bytes


class Filesystem(Section):
    """Files and folders that the tool may read, and those it may write."""

    read: tuple[_Filled, ...] = ()
    write: tuple[_Filled, ...] = ()


class Caps(Section):
    """What the tool may reach; nothing unless it is said."""

    network: tuple[NetworkScheme, ...] = ()
    filesystem: Filesystem = Filesystem()
    subprocess: bool = False


class EnvRules(Section):
    """Which variables the tool sees: those passed on from the host, and those with a value of the pack's own."""

    passthrough: tuple[_Variable, ...] = ()
    # `set` is the key of the file; as a name in Python it would hide the builtin.
    assigned: Annotated[dict[_Variable, _Text], AfterValidator(FrozenDict), Field(alias="set")] = Field(
        default_factory=FrozenDict
    )


class Templating(Section):
    """The template engine, the constants that templates read as `context`, and what a cached result depends on."""

    engine: Literal["jinja2"] = "jinja2"
    context: _JsonObject = Field(default_factory=FrozenDict)
    cache_key: _Filled | None = None


class PythonExecution(Section):
    """A function of a module (`pkg.mod:callable`), or a script that reads JSON and prints JSON: exactly one."""

    kind: Literal["python"]
    module: Annotated[str, Field(pattern=MODULE_PATTERN, max_length=512)] | None = None
    script: _Filled | None = None
    args: tuple[_Text, ...] = ()
    """Of a script; templates."""


class NodeExecution(Section):
    """A file that node runs, exactly one of: `script` (or `node`, its other name), and `module`.

    A script reads JSON from standard input and prints JSON. A module exports a function by default, or by the name
    behind a colon, that takes the input and returns the output: `lib/slug.mjs:slugify`.
    """

    kind: Literal["node"]
    script: _Filled | None = None
    node: _Filled | None = None
    module: _Filled | None = None
    args: tuple[_Text, ...] = ()
    """Of a script; templates."""


class PhpExecution(Section):
    """A file that php runs: `script`, or `php`, its other name; exactly one."""

    kind: Literal["php"]
    php: _Filled | None = None
    script: _Filled | None = None
    php_binary: _Filled | None = None
    args: tuple[_Text, ...] = ()
    """Templates."""


class CliExecution(Section):
    """A program and its arguments: a list, never a shell's line. Every item but the first may be a template."""

    kind: Literal["cli"]
    cmd: Annotated[tuple[_Filled, ...], Field(min_length=1, max_length=256)]
    input: InputForm = "json"
    """What stands on standard input: `json`, `text` or `form`; nothing with `args`, which are options, and `none`."""
    body: _Body | None = None
    """What the input is made of: a template, or the names of properties."""
    output: OutputForm = "json"
    """What the program prints: `lines` are a list of texts, `csv` a list of objects by the names in the first row."""
    select: _Filled | None = None
    """The part of the output that is returned: a JSON pointer, or a JSONPath for the list of all that it finds."""


class HttpExecution(Section):
    """A request. POST, PUT and PATCH carry the input; the others say what they want in the URL, or by `input: args`."""

    kind: Literal["http"]
    url: _Filled
    """Scheme and host are literal; path, query and fragment may be templates."""
    method: HttpMethod = "POST"
    headers: Annotated[dict[_Header, _Text], AfterValidator(FrozenDict)] = Field(default_factory=FrozenDict)
    """The values may be templates."""
    input: InputForm = "json"
    """What the body is: `json`, `text` or `form`; with `args` the input is in the query, with `none` nowhere."""
    body: _Body | None = None
    """What the input is made of: a template, or the names of properties."""
    output: OutputForm = "json"
    """What the server answers, as for programs."""
    select: _Filled | None = None
    """The part of the answer that is returned: a JSON pointer, or a JSONPath for the list of all that it finds."""


Execution: TypeAlias = Annotated[
    PythonExecution | NodeExecution | PhpExecution | CliExecution | HttpExecution, Field(discriminator="kind")
]


class PackExample(Section):
    """A call that works: its input, in words what it answers, and what comes back or which error, where that is fixed.

    `toolcrib toolpack test` runs it.
    """

    request: _Filled | None = None
    input: _JsonObject
    output: _Json = None
    """What comes back; asked of only where the file says it, which `"output" in example.model_fields_set` tells."""
    error: _Filled | None = None
    """The code or the category of the error that the call ends with."""


class ToolpackFile(Section):
    """The content of one file, with its schemas resolved."""

    id: Annotated[str, Field(pattern=ID_PATTERN, max_length=200)]
    version: Annotated[str, Field(max_length=64)]
    """SemVer 2.0."""
    deterministic: bool
    timeout_ms: _Milliseconds
    limits: Limits
    input_schema: _Schema
    output_schema: _Schema
    execution: Execution
    name: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """What people call the tool where there is no `title`; models know it by the last segment of the id."""
    title: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    description: _Text = ""
    tags: tuple[_Filled, ...] = ()
    examples: tuple[PackExample, ...] = ()
    search_cases: tuple[_Filled, ...] = ()
    """Requests in words that must find this tool."""
    risk: ToolRisk | None = None
    """What the author says; what the capabilities imply is added to it, never taken from it."""
    metadata: _JsonObject = Field(default_factory=FrozenDict)
    caps: Caps = Caps()
    env: EnvRules = EnvRules()
    templating: Templating = Templating()


class Toolpack(ToolpackFile):
    """One loaded pack: deeply immutable; two with the same `content_hash` do the same."""

    root: Path = Field(exclude=True, repr=False)
    """The folder that was loaded; nothing outside it belongs to the pack."""
    file: str = Field(exclude=True)
    """The path of the file beneath the root, with `/` between its parts."""
    content_hash: str
    """SHA-256 over all that the file says, the schemas it refers to, and the script or module that it names."""
    definition: ToolDefinition = Field(exclude=True, repr=False)

    @property
    def tool(self) -> str:
        """What the tool is called everywhere, as `weather:forecast`: its id without a version."""
        return f"{self.definition.namespace}:{self.definition.name}"

    def is_called(self, name: str) -> bool:
        """Whether a name means this pack: the id of its file, the name of its tool, or either with the version."""
        return name in {each for tool in (self.id, self.tool) for each in (tool, f"{tool}@{self.version}")}

    @property
    def folder(self) -> Path:
        """The folder of the file, which the paths in it start from."""
        return (self.root / self.file).parent

    def beneath(self, relative: str) -> Path:
        """A path that the file names, from the root of the file system."""
        return self.folder / relative


def code_of(execution: Execution) -> tuple[str, ...]:
    """The files that may hold the code of a pack, as it names them: its script, or where its module may lie."""
    match execution:
        case PythonExecution(script=str(script)) | PhpExecution(script=str(script)) | NodeExecution(script=str(script)):
            return (script,)
        case PythonExecution(module=str(module)):
            parts = module.partition(":")[0].split(".")
            stems = ["/".join(parts[: at + 1]) for at in range(len(parts))]
            return tuple(f"{stem}{end}" for stem in stems for end in (".py", "/__init__.py"))
        case NodeExecution():
            return (execution.node or (execution.module or "").partition(":")[0],)
        case PhpExecution():
            return (execution.php or "",)
    return ()


def templates_of(pack: ToolpackFile) -> Mapping[tuple[str | int, ...], str]:
    """Every text of a pack that may be a template, by its path in the file."""
    return templates_in(pack.execution, pack.templating)


def templates_in(execution: Execution | None, templating: Templating | None) -> Mapping[tuple[str | int, ...], str]:
    """As `templates_of`, for the parts of a pack that are there."""
    found = dict[tuple[str | int, ...], str]()
    match execution:
        case CliExecution():
            found |= {("execution", "cmd", at): text for at, text in enumerate(execution.cmd) if at}
        case HttpExecution():
            found[("execution", "url")] = execution.url
            found |= {("execution", "headers", name): text for name, text in execution.headers.items()}
        case PythonExecution() | NodeExecution() | PhpExecution():
            found |= {("execution", "args", at): text for at, text in enumerate(execution.args)}
    if isinstance(execution, CliExecution | HttpExecution) and isinstance(execution.body, str):
        found[("execution", "body")] = execution.body
    if templating is not None and templating.cache_key is not None:
        found[("templating", "cacheKey")] = templating.cache_key
    return found
