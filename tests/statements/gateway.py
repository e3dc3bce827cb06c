"""The statements of document 004, gateway surface.

A key is a section of the document and a letter: `1.3a` is the first statement of §1.3.
"""

from __future__ import annotations

from tests.statements.statement import Statement

_TEXTS = {
    "0a": "One runtime core serves the proxy and the gateway.",
    "0b": "Ids are computed from what servers list; nothing is stored for them.",
    "1.1a": 'A tool id is `namespace ":" name ["@" version] ["#" hash8]`.',
    "1.1b": "A namespace matches `[a-z][a-z0-9_-]{0,63}`.",
    "1.1c": "A name matches `[A-Za-z_][A-Za-z0-9_.-]{0,127}`.",
    "1.1d": "A version matches `[A-Za-z0-9._-]{1,32}`.",
    "1.1e": "A hash is eight lower-case hex digits.",
    "1.1f": "An id has at most 240 characters.",
    "1.1g": "Every id that an adapter makes keeps to the grammar, whatever the server calls the tool.",
    "1.2a": "The namespace comes from the upstream server name where one is available.",
    "1.2b": "Otherwise `infer_namespace` infers it from the upstream tool name.",
    "1.2c": "Every id has a namespace.",
    "1.2d": "The namespace survives a restart of the server and a new version of the tool.",
    "1.2e": "A dot or slash prefix leaves the name and becomes the namespace.",
    "1.2f": "Underscore prefixes and names without a prefix stay verbatim in the name.",
    "1.2g": "The name survives updates of the description.",
    "1.2h": "The version is `_meta.version` of the tool, or its equivalent, where declared.",
    "1.2i": "The version is optional.",
    "1.2j": "The hash is the first eight hex digits of the SHA-256 of the canonical shape.",
    "1.2k": "An id without a version has a hash.",
    "1.2l": "An id with a declared version needs no hash.",
    "1.2m": "The hash survives updates of the description.",
    "1.2n": "The hash changes with every change of the input shape.",
    "1.3a": "The hash goes over the upstream name, a line break and the canonical shape.",
    "1.3b": "The canonical shape is compact JSON with sorted keys: `properties` and `required`, each sorted.",
    "1.3c": "Types and descriptions of properties do not count.",
    "1.3d": "Only top-level properties and the top-level `required` count.",
    "1.3e": "A schema without `properties` or `required` counts as one with none.",
    "1.3f": "The upstream name counts as the server reports it, before a prefix is dropped.",
    "1.3g": "Two tools of one shape whose names differ only in the dropped prefix get different hashes.",
    "1.3h": "The hash needs the standard library alone.",
    "1.4a": "`github.create_issue` of version 1.4.0 is `github:create_issue@1.4.0`.",
    "1.4b": "`slack_send_message` is `slack:slack_send_message#…`.",
    "1.4c": "`read_file` is `mcp:read_file#…`.",
    "1.4d": "`weather.get` of version 2024-05 is `weather:get@2024-05`.",
    "1.4e": "The upstream name can be made again from namespace, separator and name.",
    "1.4f": "An underscore prefix counts from three segments on.",
    "1.4g": "Without a prefix the namespace is `mcp`.",
    "1.4h": "No other rule derives names.",
    "1.5a": "Two upstream tools with one id are a `CatalogError`.",
    "1.5b": "A collision is never resolved silently: neither tool is served.",
    "1.5c": "10,000 tools of one server do not collide.",
    "1.6a": "`parse_tool_id` splits an id into namespace, name, version and hash.",
    "1.6b": "`parse_tool_id` raises `CatalogError` on malformed input.",
    "1.6c": "`format_tool_id` is the inverse of `parse_tool_id`.",
    "1.6d": "`ToolIdParts` names what they exchange.",
    "1.6e": "All but these two treat an id as opaque.",
    "1.6f": "The id of a card is what hydrates and executes the tool.",
    "1.6g": "Nothing is keyed by `mcp:{name}`.",
    "1.7a": "No adapter emits an id of the form `mcp:{name}`.",
    "1.7b": "The legacy form is not accepted.",
    "2.1a": (
        "A card has exactly id, name, description, tags, kind, namespace, has_schema, score, cost_hint and "
        "side_effects."
    ),
    "2.1b": "A card takes no other field.",
    "2.1c": "The rendered card shows no other field.",
    "2.1d": "`id` is the canonical id of the tool.",
    "2.1e": "`name` has at most 64 characters.",
    "2.1f": "`description` is one line.",
    "2.1g": "`tags` are sorted, without duplicates, at most five, each of at most 24 characters.",
    "2.1h": "`kind` is tool, agent, skill or internal.",
    "2.1i": "`namespace` is that of the id.",
    "2.1j": "`has_schema` is a boolean and never the schema.",
    "2.1k": "`score` is optional, in the JSON form only.",
    "2.1l": "`cost_hint` is rendered only above 0.",
    "2.1m": "`side_effects` is rendered only when true.",
    "2.2a": "A card has no input schema in any form.",
    "2.2b": "A card has no output schema in any form.",
    "2.2c": "A card has no examples and no sample invocations.",
    "2.2d": "A card has no annotations, `_meta` or other free-form metadata.",
    "2.2e": "A card has no URL of its server.",
    "2.2f": "A card names no transport.",
    "2.2g": "Tags carry none of it, either.",
    "2.3a": "Tokens are counted exactly, as tiktoken does with cl100k_base.",
    "2.3b": "The bounds are those of the rendered text.",
    "2.3c": "A card targets at most 60 tokens.",
    "2.3d": "A card never has more than 80 tokens.",
    "2.3e": "A page of n cards targets 60·n tokens.",
    "2.3f": "A page of n cards never has more than 80·n + 32 tokens.",
    "2.3g": "The preamble of a page has at most 32 tokens.",
    "2.3h": "A card that is over 80 tokens after truncation is a `CatalogError`.",
    "2.3i": "Only the description is ever shortened.",
    "2.4a": "A description within its budget stays verbatim.",
    "2.4b": "A longer one is cut to the longest prefix that ends in `.`, `!` or `?` and fits.",
    "2.4c": "Where none fits, it is cut at one token below the budget, and `…` is appended.",
    "2.4d": "The result never has more tokens than the budget.",
    "2.4e": "The same text is cut alike, in any process and locale.",
    "2.5a": "Cards stand in descending order of their scores.",
    "2.5b": "Cards of one score stand in ascending order of their ids.",
    "3.1a": "`tool_browse` takes a query in words and returns the cards that fit best.",
    "3.1b": "`tool_browse` takes a path and returns the children of its node.",
    "3.1c": "Both a query and a path are `ARGS_INVALID`.",
    "3.1d": "Neither a query nor a path is `ARGS_INVALID`.",
    "3.1e": "It accepts nothing else.",
    "3.2a": 'A path is `"/" [segment ("/" segment)*]`.',
    "3.2b": "A segment is `[a-z0-9][a-z0-9_-]{0,63}` or `*`.",
    "3.2c": "`/` lists one card for each namespace.",
    "3.2d": "A trailing `/` is invalid.",
    "3.2e": "An empty segment is invalid.",
    "3.2f": "A last segment `*` lists what the path without it lists.",
    "3.2g": "`*` is reserved: `*?tag=read-only` is no path yet.",
    "3.2h": "A `*` before the last segment is well-formed.",
    "3.2i": "An upper-case letter is invalid.",
    "3.2j": "Namespaces stand in the tree in lower case.",
    "3.2k": "A root segment starts with a letter.",
    "3.2l": "A deeper segment may start with a digit.",
    "3.3a": "`/` resolves to the namespaces of the catalogue.",
    "3.3b": "`/github` resolves to the children of the namespace.",
    "3.3c": "`/github/issues` resolves to the children of the cluster.",
    "3.3d": "`/github/issues/*` resolves to the same.",
    "3.3e": "`/github/issues/create_issue` resolves to that one card.",
    "3.3f": "A leaf that is not there is not found.",
    "3.4a": "An error of `tool_browse` has `error`, `message`, `path` and optional `details`.",
    "3.4b": "`path` is the path that was asked for, or empty.",
    "3.4c": "`PATH_INVALID` is the answer to a malformed path.",
    "3.4d": "`PATH_NOT_FOUND` is the answer to a well-formed path that leads nowhere.",
    "3.4e": "`details` is the product's own: the nearest paths.",
    "3.4f": "The error travels in the content of the tool's response, and as structured content.",
    "4a": "Cards are the format of every listing; schemas come by hydration alone.",
    "4b": "No option lists all schemas.",
    "4.1a": "The proxy lists every tool with its name, description and input schema alone.",
    "4.1b": "The name of an entry is the canonical id of the tool.",
    "4.1c": "The description of an entry is truncated as that of a card.",
    "4.1d": 'The input schema of an entry is `{"type": "object"}` without properties.',
    "4.1e": "The proxy offers `tool_hydrate(tool_id)`, which returns the real schema.",
    "4.1f": "The proxy offers `tool_execute(tool_id, args)`, which runs a tool.",
    "4.1g": "A listed tool cannot be called by its name.",
    "4.1h": "`tool_execute` validates the arguments, calls the server and returns its result.",
    "4.1i": "`tool_hydrate` is optional before `tool_execute`.",
    "4.1j": "The list has one entry for every tool, without filter, ranking or top-k.",
    "4.1k": "Both modes share the invocation of tools.",
    "4.1l": "Names can be served percent-encoded for strict clients.",
    "4.1m": "Whichever form is served, the id comes back from it.",
    "4.2a": "The gateway offers exactly `tool_browse`, `tool_execute` and `tool_view`.",
    "4.2b": "`tool_browse(query|path)` returns cards.",
    "4.2c": "`tool_execute(tool_id, args)` needs no hydration by the agent.",
    "4.2d": "`tool_execute` validates, calls and passes the response through the context firewall.",
    "4.2e": "`tool_execute` returns a `ResultEnvelope`.",
    "4.2f": "`tool_view(handle, selector)` drills into what `tool_execute` kept.",
    "4.3a": "`Catalog.hydrate(tool_id)` returns a `HydrationResult`, in both modes.",
    "4.3b": "The gateway hydrates inside `tool_execute`.",
    "4.3c": "The proxy exposes hydration as `tool_hydrate`.",
    "4.3d": "The id alone is the key of what is cached.",
    "4.4a": "The gateway validates arguments against the hydrated schema before it calls the server.",
    "4.4b": "The proxy does so, too.",
    "4.4c": "Invalid arguments are `ARGS_INVALID` in the shape of §3.4.",
    "4.4d": "Invalid arguments never reach the server.",
    "5a": "Without `cache_stable` a page is in the order of §2.5.",
    "5b": "`ProxyRuntime(cache_stable=True)` keeps the beginning of pages the same to the byte in a session.",
    "5.1a": "Ids that were browsed count as seen, for the session.",
    "5.1b": "Ids that were hydrated count as seen, as those that were executed.",
    "5.1c": "It holds for pages by query and by path.",
    "5.1d": "Cards that were seen come first, by ascending id.",
    "5.1e": "One card `__cache_breakpoint__` of kind `internal` stands between what was seen and what is new.",
    "5.1f": "New cards come behind the marker, by ascending id.",
    "5.1g": "A card that was seen keeps its content, its score included.",
    "5.2a": "Every card of a page by query keeps a score.",
    "5.2b": "The first card need not be the best: sorting by score gives the ranks.",
    "5.3a": "The first page of a session has no marker.",
    "5.3b": "A page of which all was seen has no marker.",
    "5.3c": "A page of which all is new has no marker.",
    "5.4a": "The marker is a card like any other internal one, and serializes as such.",
    "5.4b": "`tools/list` never has the marker.",
    "5.5a": "Only a hydration that succeeds counts.",
    "5.5b": 'A failed one is `GatewayError(code="HYDRATE_FAILED")` and changes nothing.',
    "6a": "The official MCP SDK is an optional dependency.",
    "6b": "Arguments are validated by `jsonschema`.",
    "7a": "A card never carries an input or output schema.",
    "7b": "Every id of an adapter survives `parse_tool_id` and `format_tool_id`.",
}

_DEVIATIONS = {
    "1.4h": (
        "with a configured server name, a prefix is dropped only if it repeats that name before `.`, `/` or `__` "
        "(CT-28); a name outside the grammar gets a legal one with a hash of its own (GW-6.3)"
    ),
    "1.5a": (
        "the catalogue reports both at once and raises the error when the id is used, so that one server cannot "
        "stop the others (GW-6.3)"
    ),
    "1.6e": "lookups also split what a caller wrote, since they accept an id without its hash or version (CT-20)",
    "1.7b": (
        "`mcp:read_file` is accepted where it means one tool of the namespace `mcp`, as any id without its hash (CT-20)"
    ),
    "2.1c": "a line of a page names the required parameters behind the card, within its budget (GW-7.1)",
    "3.1e": "`limit` and `detail` choose how much a page shows (GW-7.1, GW-7.2)",
    "3.2c": "beyond 24 namespaces the smaller ones are listed by alphabetical ranges (GW-3.3)",
    "3.2h": "it is `PATH_INVALID`, since it says nothing there (GW-3.2)",
    "3.4a": "`hint` and `retryable` stand beside them (GW-6.8)",
    "4a": "`detail` of `tool_browse` shows the schemas of up to three hits, or one definition whole (GW-7.2, CL-4)",
    "4.1j": "a tool whose card does not fit 80 tokens is reported, not listed, and runs by its id (GW-2.3)",
    "4.2a": "`execute: by-risk` offers one `tool_execute` for each risk, where an operator asks for it (GW-8.3)",
    "4.2e": "a small result comes back as its server sent it (GW-7.3)",
    "4.4c": "`path` is the JSON pointer of the first wrong argument; `hint` and `retryable` stand beside it (CT-12)",
    "5.5b": (
        "a tool that is withheld is `TOOL_CHANGED`, one whose server is not there `UPSTREAM_UNAVAILABLE`; "
        "`tool_execute` says `TOOL_NOT_FOUND` (GW-6.8)"
    ),
    "6a": (
        "`toolcrib-mcp` requires it for servers in the same process; core and runtime do not, and the section is "
        "a suggestion"
    ),
    "6b": (
        "`jsonschema-rs` validates, in core: it is faster, and patterns take linear time (AR-6.4); the section is "
        "a suggestion"
    ),
}


def _section(key: str) -> str:
    section = key.rstrip("abcdefghijklmnopqrstuvwxyz")
    return "Goals" if section == "0" else section


STATEMENTS: tuple[Statement, ...] = tuple(
    Statement(id=f"D4-{key}", section=_section(key), text=text, deviation=_DEVIATIONS.get(key))
    for key, text in _TEXTS.items()
)
"""In the order of the document."""
