"""Every requirement of the product: its id, its sentence, the specification it stands in, and whether it is built.

A test proves a requirement by carrying `@pytest.mark.req("AR-2.3")`. `scripts/requirements --check` fails when one that
is not pending has no test. Building a part means taking its line out of `_PENDING`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.statements import STATEMENTS

# The longest matching prefix decides; `None` means built.
_PENDING: dict[str, str | None] = {
    "AR": None,
    "RT": None,
    "AD": None,
    "TP": None,
    "CP": None,
    "TS": None,
    "GW": None,
    "CL": None,
    "CL-14": "comes with `install` and profiles: init reads more clients",
    "CL-15": "comes with `install` and profiles: secrets in an env file or the keyring",
    "CL-16": "comes with profiles: `toolcrib install CLIENT`",
    "CL-22": "comes with views: one computation of what a caller may see",
    "CT": None,
    "VW": "comes with views",
    "CN": "comes with connections",
    "PX": "comes with the extensions of the protocol",
    "CO": "comes with the console",
    "EN": "comes with executors on other machines",
}

# What a built requirement says beyond what is built: the rest comes with the part that is named.
_NOTES = {
    "CL-5": (
        "the note keeps to 2 % of answered queries over all development sets; of queries without an answer it is said "
        "of far fewer than 80 %, since no evidence tells those apart at that bound (`R-pages` in the benchmarks)"
    ),
    "GW-7.1": 'the JSON of the cards is in `_meta["io.toolcrib/cards"]` (CL-1)',
    "GW-8.3": "a tool that its server declares read-only runs without a question (CL-19)",
    "CL-20": "the address comes with the console, and what `install` sets with `install`",
    "RT-19": "an engine for more than one machine comes later",
}


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One promise: `pending` gives the reason while it is not built, `note` what is left of it when it is."""

    id: str
    source: str
    text: str
    pending: str | None
    note: str | None
    deviation: str | None = None
    """Why the product does otherwise on purpose; only for a statement of a source document."""


def _pending_reason(requirement_id: str) -> str | None:
    parts = requirement_id.replace("-", " ").replace(".", " ").split()
    family, section = parts[0], "-".join(parts[:2])
    for key in (requirement_id, section, family):
        if key in _PENDING:
            return _PENDING[key]
    raise KeyError(requirement_id)


_TEXTS: dict[str, dict[str, str]] = {
    "core.md": {
        "AR-1.1": (
            '`ToolDefinition` (frozen, `extra="forbid"`): identity (namespace, name, version), title, description, '
            "input schema, output schema, tags, examples, input_examples, kind, risk, lifecycle, cost_hint, "
            "metadata. No handler, no policy knobs. Built from a pydantic model, a TypedDict, a dataclass, a "
            "function signature, or a raw JSON Schema."
        ),
        "AR-1.2": (
            "`ToolRisk`: effects `none|read|write|unknown`, requires_approval, data_sensitivity "
            "`public|internal|restricted|secret`, external_network, system_access, plus destructive, idempotent. "
            "Risks merge monotonically: a composition is never less risky than its parts; an untrusted source "
            "(upstream hints) can raise a risk, never lower it."
        ),
        "AR-1.3": "`ToolLifecycle`: deprecated, message, since, sunset, replaced_by.",
        "AR-1.4": (
            "`ToolId` text `namespace:name[@version][#hash8]`. Components are percent-encoded as JavaScript's "
            "encodeURIComponent does; namespace defaults to `default`; `@version` left out when undefined. "
            "`format_tool_id`, `parse_tool_id`, `normalize_identity` are exact inverses (property test, incl. "
            "unicode, `@`, `:`, `#`, `%` inside components). The gateway's grammar (spec/gateway.md §1) is the "
            "strict subset of this one: one implementation, two profiles. `fullmatch`, never `^…$` (a trailing "
            "newline is not an id)."
        ),
        "AR-1.5": (
            "Wire names: a reversible codec ToolId ↔ provider-legal tool name (`[A-Za-z0-9_-]`, first a letter or `_`, "
            "≤ 64, minus a prefix budget such as `mcp__server__`), deterministic, independent of registration order, "
            "collision = error naming both ids. Readable where it can be (`github__create_issue`), hashed suffix where "
            "it must."
        ),
        "AR-1.6": (
            "Two digests per definition: `shape` (full canonical input+output schema) and `prose` (title, "
            "description, annotations, examples). They drive pinning, drift reports and compatibility."
        ),
        "AR-1.7": (
            '`is_tool_definition`, `inspect(definition_or_registry, level="summary"|"standard"|"full")`, tag '
            "normalisation (kebab-case, unique), composable query predicates, as in the source document."
        ),
        "AR-2.1": (
            "`register(definition, aliases=…, override=…)`, `unregister(id)`, `get(id)`, `resolve(identity, "
            "allow_deprecated=…)`, `list()`, `serialize()`, `query(…)`, `search(…)`; duplicate = error unless "
            "override. A snapshot is immutable and cheap; readers never see a half-made change."
        ),
        "AR-2.2": (
            "`get()` takes a fully qualified id only (version, or hash for unversioned tools) and refuses an "
            "ambiguous one, saying which ids match; an unversioned tool is reachable by its id."
        ),
        "AR-2.3": (
            "`resolve()` alone chooses: highest version by SemVer 2.0 precedence when all versions are SemVer "
            "(pre-releases only when nothing else fits or when asked for), otherwise registration order; ranges "
            "(`^1.2`, `~1.2`, `>=1,<2`); `version_selector` overrides. Precedence of pre-release identifiers follows "
            "SemVer §11 exactly (`1.0.0-alpha` < `1.0.0-alpha.1` < `1.0.0-beta.2` < `1.0.0-beta.11` < `1.0.0-rc.1` < "
            "`1.0.0`)."
        ),
        "AR-2.4": (
            "Aliases belong to the registry: chains, cycle detection, maximum depth (5), errors that print the "
            "chain; an alias cannot shadow a registered id."
        ),
        "AR-2.5": (
            "Deprecation warns through a warnings channel (`RegistryWarning`, with replaced_by), is excluded from "
            "`resolve` unless allowed, and a deprecated tool named with its exact version still resolves, with the "
            "warning."
        ),
        "AR-2.6": (
            "Query filters: namespace, version, deprecated, risk, tags any/all/none, kind, schema keys, metadata, "
            "text, predicate, and/or/not, limit, offset, select. Everything deterministic."
        ),
        "AR-2.7": "`combine_registries`; events or a change feed for caches and list-changed notifications.",
        "AR-3.1": (
            "Ranked search over name, title, description, tags, examples, parameter names and descriptions, "
            "namespace; identifier splitting (snake, camel, digits), stemming, field weights, typo tolerance; "
            "non-Latin scripts work. Scores and an `explain` (fields and terms that matched)."
        ),
        "AR-3.2": (
            "Never a zero-evidence hit as padding; ties by id; every registered tool is found by its own name; "
            "incremental add and remove without a full rebuild. Optional dense signal by a pluggable embedder, fused "
            "with the lexical one."
        ),
        "AR-3.3": "Quality and speed targets are in spec/targets.md.",
        "AR-4.1": (
            "`ToolContext`: run_id, request_id, user, tenant, logger, tracer/span protocols, deadline. No "
            "execution-only fields."
        ),
        "AR-5.1": (
            "`ToolError`: code, category, message, hint, retryable, details. Categories: validation, "
            "output_validation, permission, approval_required, not_found, unavailable, conflict, transient, timeout, "
            "cancelled, limit, budget, unknown_outcome, internal. `create_tool_error()`."
        ),
        "AR-5.2": (
            "Code prefixes are reserved and checked: `toolbox.*` for ours, `tool.<namespace>.<name>.*` for a tool's "
            "own."
        ),
        "AR-5.3": (
            "Messages are written for the model that reads them: what was wrong, where (JSON pointer), what is "
            "allowed, did-you-mean. All violations at once. Never a traceback, never a secret."
        ),
        "AR-6.1": (
            "`serialize_tool_definition`, `serialize_registry` → `SerializedToolDefinition`, JSON Schema draft "
            "2020-12, no Python objects, deterministic bytes: stable key order (but the author's order of parameters "
            "is kept, as models read it), `$defs` named by content, equal across processes, hash seeds, Python "
            "versions and registration orders. `deserialize` is its inverse."
        ),
        "AR-6.2": (
            "Lossy features (validators, transforms, arbitrary types, non-JSON defaults …) set `serialization.lossy` "
            "and give warnings with JSON pointers."
        ),
        "AR-6.3": (
            "`metadata` must be JSON: a violation raises with the path (cycles, NaN, bytes, sets, non-string keys …)."
        ),
        "AR-6.4": (
            "Validation of arguments against the definition's schema lives here, is compiled once per schema, and "
            "never fetches a remote `$ref`."
        ),
        "AR-6.5": (
            "`compare(old, new)` says compatible / additive / breaking with pointers, input contravariant and output "
            "covariant; a breaking change without a major version is reported."
        ),
        "AR-6.6": "No provider's shape anywhere in core.",
        "AR-9.1": "import-linter contracts in `.importlinter` and an allowlist test of core's external imports.",
        "AR-9.2": "Dependencies declared in each package's pyproject match what it imports.",
        "AR-9.3": "The export surface of every package is snapshot; core's has no execute-like name.",
        "AR-9.4": "Every package installs and imports alone.",
        "AR-9.5": "CI fails on any of these.",
        "AR-9.6": (
            "Coverage baseline (source document 002): a script collects line coverage of all packages, reads the "
            "total from the machine-readable report, and fails only when it falls below the reviewed value in "
            "`coverage-baseline.json` (0 < x ≤ 100; anything else is rejected)."
        ),
    },
    "runtime.md": {
        "RT-1": (
            "`RunnableTool` = definition + handler. `@tool` / `create_tool` from a sync or async function (schema, "
            "descriptions and defaults from signature, annotations and docstring), a pydantic model plus a handler, "
            "or a definition plus a handler. Sync functions never block the loop."
        ),
        "RT-2": (
            "`Toolbox` (`create_toolbox`; `Runner`/`create_runner` is the same thing by its other name) sits on the "
            "core registry: aliases, versions, deprecation and search all apply to execution. Immutable; `extend()`; "
            "`combine_toolboxes()` that drops no policy silently."
        ),
        "RT-3": (
            "`execute(call | calls)`: results in input order, parallel or sequential, collect or fail-fast (which "
            "really cancels the rest). `ToolResult`: call_id, tool_id, outcome (success | error | action_required), "
            "value, content, error, timings, digests, attempts."
        ),
        "RT-4": (
            "`RuntimeToolContext` extends `ToolContext`: tool_call, deadline, progress(), log(), emit/stream, "
            "cancellation, the toolbox's own context values."
        ),
        "RT-5": (
            "Timeouts stop the work (cancellation reaches the handler; a sync handler's thread result is discarded "
            "and reported), map to category `timeout`."
        ),
        "RT-6": (
            "Cancellation maps to `cancelled`; a queued call leaves the queue at once. Caller cancellation and tool "
            "failure are never confused."
        ),
        "RT-7": (
            "Retries: off unless the tool is idempotent or effect-free; exponential backoff with jitter, bounded, "
            "respects the deadline and `retry_after`; validation, permission and approval errors are never retried. "
            "A non-idempotent call whose outcome is not known ends as `unknown_outcome`, `retryable=false`, never "
            "run again. Idempotency keys with a ledger (in memory, or the store) make a repeated call return the "
            "first result."
        ),
        "RT-8": (
            "Concurrency: per tool, per toolbox, per key (for instance per upstream or user), FIFO, fair; no N² "
            "anywhere: 1,000 parallel calls of one tool cost linear time."
        ),
        "RT-9": (
            "Budgets: calls, wall time, cost, output tokens; per toolbox, per run; `budget` error; loop detection "
            "(same call repeated, ping-pong)."
        ),
        "RT-10": (
            "Policies: before/after hooks; allow | deny | needs approval; combination is deny > ask > allow; default "
            "rules from risk (effects unknown asks). Approvals are bound to principal, tool digest, canonical "
            "arguments, policy version and expiry; single use; signed; survive a restart; edited arguments need a "
            "new approval."
        ),
        "RT-11": (
            "Validation errors are distinct (`validation`), carry every violation with pointers and a repaired "
            "example where obvious; output validation has its own category. Optional, audited argument repair "
            '(string "5" for integer 5), off by default.'
        ),
        "RT-12": (
            "Composition: pipe, parallel, bind, tap, when, fallback, retry, map_input/map_output (schema kept or "
            "stated), each returns a real tool with a legal name, merged risk and tags, and errors that name the "
            "step and keep the cause."
        ),
        "RT-13": "Lazy tools: loader runs once, concurrent first calls share it, a failure is not cached.",
        "RT-14": "`create_search_tool(toolbox)`: ranked results as cards, with an explain option.",
        "RT-15": (
            "Events for every stage (started, validated, policy, progress, retry, finished …), each emitted once and "
            "attributed to its call; OpenTelemetry spans and metrics by GenAI conventions, content off by default."
        ),
        "RT-16": (
            "Result cache for declared-deterministic tools: bounded, TTL, keyed by definition digest and canonical "
            "arguments; nested values count; results cannot be mutated by callers."
        ),
        "RT-17": (
            "Middleware around the call (not around the config), applied the same to every tool however it was made."
        ),
        "RT-18": "Testing kit: fake tool, fake clock, recorder, published as `toolcrib_runtime.testing`.",
        "RT-19": (
            "Distributed execution: the call path is behind one `Executor` protocol; local (asyncio) is the default; "
            "process pool for CPU-bound tools; an existing engine for more than one machine."
        ),
        "RT-20": (
            "Compatibility names of the source document, each a thin deprecated alias with a `DeprecationWarning`: "
            "`ToolResult.error_message` and `.error_category`, `Toolbox.get_tool(name)` (= resolve; warns on an "
            "ambiguous name), metadata flags `mutates` / `readOnly` / `dangerous` mapped to risk. `is_runnable_tool`."
        ),
    },
    "adapters.md": {
        "AD-1": (
            "Definitions. OpenAI: Responses `FunctionToolParam` (strict is a required key) and Chat Completions; "
            "namespaces; `defer_loading`; `output_schema`. Anthropic: `ToolParam` with input_examples, "
            "cache_control, strict, defer_loading, allowed_callers; `$defs` kept. Gemini: `FunctionDeclaration` with "
            "`parameters_json_schema` / `response_json_schema`. Claude Agent SDK: `SdkMcpTool` / an SDK MCP server; "
            "always emits `properties`."
        ),
        "AD-2": (
            "Strict modes: the schema is really transformed (every object closed, all properties required, optional "
            "as nullable, unsupported keywords handled) and comes with a `LossReport`: pointer, keyword, effect "
            "(`widened | narrowed | annotation_only`), mitigation. The label is *checked*: a property test generates "
            "schemas and instances and compares original with converted; a conversion that would narrow falls back "
            "to non-strict. Nothing is lost silently."
        ),
        "AD-3": (
            "Calls back: parse a response object, a dict or streamed deltas into core `ToolCall`s (id, wire name → "
            "ToolId, arguments). Broken JSON is an error that can be sent back to the model, never `{}`. Parallel "
            "calls keep order."
        ),
        "AD-4": (
            "Results out: text, structured, image, error (with the provider's error flag where there is one), for "
            "one or many calls, in the provider's message shape."
        ),
        "AD-5": (
            "Native lazy loading: one hydrate result → Anthropic `tool_reference` / deferred tools, OpenAI "
            "`tool_search_output` / `additional_tools`, Gemini re-declaration, MCP meta-tool reply. Earlier request "
            "bytes do not change (cache-safe, tested)."
        ),
        "AD-6": "tool_choice / allowed tools helpers.",
        "AD-7": (
            "Output is validated against the real SDK's types with round-trip equality (TypedDict validation "
            "silently drops unknown keys, so `validate(x) == x`). Golden files for every provider over a corpus of "
            "real MCP tools (≥ 300): every one converts, is legal, or is refused with a reason."
        ),
        "AD-8": "Import side: `from_openai_tools`, `from_anthropic_tools`, `from_gemini_tools` → definitions.",
        "AD-9": (
            "An end-to-end example per provider runs offline against a local HTTP server that speaks that API, "
            "through the real SDK client."
        ),
        "AD-10": "Deterministic bytes; order-independent names.",
        "AD-11": (
            "`to_json_schema` (the old OpenAI-shaped export of the source document) as a deprecated shim in the "
            "OpenAI adapter only."
        ),
    },
    "toolpacks.md": {
        "TP-1": (
            "`ToolpackLoader().load_dir(path)` walks recursively for `*.tool.yaml` in a deterministic order; "
            "`list()` sorted by id; `get(id)` returns or raises `KeyError`. A missing directory is an error."
        ),
        "TP-2": "All or nothing: a failed `load_dir` leaves what was loaded before untouched.",
        "TP-3": (
            "Required: `id`, `version`, `deterministic`, `timeoutMs`, `limits`, `inputSchema`, `outputSchema`, "
            "`execution`. Optional: `name`, `title`, `description`, `tags`, `examples`, `risk`, `metadata`, `caps`, "
            "`env`, `templating`. Unknown keys anywhere are errors with a did-you-mean; snake_case spellings of "
            "known keys are rejected and the message names the camelCase key. Duplicate YAML keys are errors."
        ),
        "TP-4": (
            "`id`: dotted lower-case segments (`pkg.tool`; `_` and `-` inside a segment allowed). `version`: SemVer "
            "2.0, and also readable by `packaging.Version` where that standard can express it; `v1.0.0`, `01.2.3`, "
            "`1!1.0.0`, ` 1.2.3 ` are rejected; a YAML float is rejected with a hint to quote it."
        ),
        "TP-5": "`timeoutMs`, `limits.maxInputBytes`, `limits.maxOutputBytes`: positive integers; `true` is not one.",
        "TP-6": (
            "`execution.kind` ∈ python, node, php, cli, http, with per-kind contracts: python `module: "
            '"pkg.mod:callable"` or `script`; cli `cmd` a non-empty list of strings; http `url` plus optional '
            "`method`, string `headers`; both `input`, `body`, `output` and `select` (CT-25); node "
            "`script`/`node`/`module` plus `args`; php `php` or `script`, optional "
            "`phpBinary`."
        ),
        "TP-7": (
            "`caps.network` ⊆ {http, https}; `caps.filesystem` = lists under `read`/`write`; `caps.subprocess` "
            "boolean. All of them are optional (CT-23); paths may not climb out of the pack's root."
        ),
        "TP-8": (
            "`env.passthrough` (list) and `env.set` (mapping) use upper-case names; `templating.engine` is `jinja2`; "
            "`templating.context` is JSON; `templating.cacheKey` must parse as a template."
        ),
        "TP-9": (
            "`$ref` in schemas: relative to the *referencing file*, chains across files, JSON pointers, YAML or JSON "
            "targets, `$ref` with sibling keywords (2020-12), recursive schemas (kept as local `$defs`, never "
            "infinite), confined to the pack root (no absolute path, no `..` out, no symlink out, no URL is ever "
            "fetched). A property that happens to be named `$ref` is fine. Schemas must be valid for their dialect "
            "and, for input, describe an object."
        ),
        "TP-10": "Duplicate ids are rejected naming both files.",
        "TP-11": (
            "Every violation is a `ToolpackValidationError` that carries file, line, field path, code and message; "
            "all violations of all files are collected and reported together, not the first only. No other exception "
            "type escapes the loader, whatever bytes are in the file (fuzzed)."
        ),
        "TP-12": (
            "A loaded `Toolpack` is deeply immutable and has a content hash; `loader.snapshot()` is deterministic "
            "bytes, equal across machines and file-walk orders."
        ),
        "TP-13": (
            "`toolpack.definition` is a core `ToolDefinition` (namespace = id's prefix, name = last segment, "
            "version), so every adapter, card, search and the gateway serve toolpacks like any tool."
        ),
        "TP-20": (
            "`python` (module in-process or in a warm worker process; script in a subprocess), `node`, `php`, `cli`, "
            "`http` all really run. Subprocess protocol: JSON on stdin, one JSON document on stdout, unless a `cli` "
            "pack says otherwise (CT-25); stderr head kept for errors."
        ),
        "TP-21": (
            "`timeoutMs` really stops the work: the whole process group is killed; no zombie, no orphan; a late "
            "result is never returned and never cached. `maxInputBytes` is checked before the start, "
            "`maxOutputBytes` while reading."
        ),
        "TP-22": (
            "Input is validated against `inputSchema` before, output against `outputSchema` after; each failure is a "
            "structured `ToolError` (`validation`, `output_validation`, `timeout`, `limit`, `capability`, "
            "`execution` …) with details."
        ),
        "TP-23": (
            "The child's environment holds only what `env.set` names, what `env.passthrough` names and the operator "
            "grants by name, plus what the interpreter needs to start."
        ),
        "TP-24": (
            "Capabilities are enforced, not only declared: no network cap → no sockets; filesystem outside the lists "
            "is refused; no subprocess cap → no children. On Linux by the kernel where available (Landlock, seccomp, "
            "namespaces or bubblewrap), and `toolcrib doctor` says which level this machine gives. What cannot be "
            "enforced is refused unless `--trust` is given."
        ),
        "TP-25": (
            "http: host and resolved address are checked (no loopback, private, link-local or metadata addresses "
            "unless allowed), redirects are re-checked, the connection goes to the address that was checked, "
            "response size is bounded."
        ),
        "TP-26": (
            "Templating: sandboxed Jinja2 (CT-24) with strict undefined; `input`, `context` and allow-listed `env` "
            "only; rendered into single argv items, headers, URL parts (URL-escaped); never through a shell."
        ),
        "TP-27": (
            "Deterministic tools are cached by (pack content hash, canonical input, rendered cacheKey): bounded, "
            "with TTL; callers cannot mutate what is cached; non-deterministic tools are never cached. Concurrent "
            "equal calls run once."
        ),
        "TP-28": (
            "`toolcrib toolpack lint|list|run|new` work on the command line; `lint` prints file:line messages and "
            "exits non-zero."
        ),
        "TP-29": (
            "Warm workers: a python-module tool costs far less than a process spawn per call; a crashed worker is "
            "replaced and the call that crashed it gets a clear error."
        ),
    },
    "contextpacks.md": {
        "CP-1": (
            "Ids `pk_[a-z2-7]{8}`. Pack: id, name?, title?, brief?, status (draft|finalized), tags, sections, "
            "revision (from 1), created/updated/expires. Section: key, title, description?, refs, diagrams. Ref: "
            "key, path, line range, title?, why?, group?. Diagram: key, title, mermaid, why?."
        ),
        "CP-2": (
            "`input` actions `list|get|write|ttl|delete`; `output` actions `list|read`. The advertised JSON Schemas "
            "are complete (item shapes included), so a model need not guess; unknown fields and wrongly typed values "
            "are errors, never dropped."
        ),
        "CP-3": (
            "`write` is a full-replace snapshot (`document`). Without `id|name` it creates and allocates an id; with "
            "it, it updates and requires `expected_revision`. The `document` of `get` can be written back as it is. "
            "Legacy fields and actions (op, section_key, get/mode/cursor/match …) are rejected with guidance."
        ),
        "CP-4": "`validate_only=true` runs every check and persists nothing.",
        "CP-5": (
            "`ttl` takes exactly one of `ttl_minutes` (from now) or `extend_minutes` (from the later of now and "
            "expiry). It changes `expires_at` alone: `revision` and `updated_at` stay. No pack lives longer than five "
            "years from now."
        ),
        "CP-6": (
            "Freshness `fresh|expiring_soon|expired`; default lists hide expired packs; `freshness=expired` shows "
            "them during the grace period (`CONTEXT_PACK_EXPIRED_GRACE_SECONDS`, default 900), after which they are "
            "unavailable. `get` and `read` take `freshness`, too. `freshness_state`, `expires_at`, `ttl_remaining` on "
            "every list and read; warnings in human-readable output."
        ),
        "CP-7": (
            "`output read(name=…)`: packs of the `freshness` that is asked for, else those that have not expired, "
            "else those in their grace period; of these finalized before draft, then latest `updated_at` (by what an "
            "export shows, to the microsecond), then highest `revision`, else `ambiguous` with "
            "`details.candidate_ids`. LEGEND carries `selected_by`, `selected_revision`, `selected_status`."
        ),
        "CP-8": (
            "Profiles: `orchestrator` (default, compact, limit 6), `executor` (compact, actionable: what to do, "
            "where, open risks; higher bound), `reviewer` (everything with code). Compact: objective/scope, "
            "verdict/status, top risks and gaps, freshness, deep-nav hints, ref metadata and stale markers, no code "
            "fences. Each profile has a token bound, measured."
        ),
        "CP-9": (
            "Paging: `limit` + `offset`, or `page_token`; LEGEND `has_more`, `next_page_token`. Tokens are signed "
            "and fail closed (`invalid_page_token` in the message, code `invalid_data`) on any change of pack, "
            "revision or request. Pages have no gaps or repeats."
        ),
        "CP-10": "`contains`: case-insensitive substring over the rendered chunk text, deterministic.",
        "CP-11": "`output` is always markdown; `format` is rejected.",
        "CP-12": (
            "Errors: `kind`, `code`, `message`, `details`, `request_id`; validation is `kind=validation, "
            "code=invalid_data` with `requested_*`, `supported_field`, `allowed_*`, `required_fields`, "
            "`mutually_interchangeable` as they apply. Through the gateway `kind` and `code` stay as they are."
        ),
        "CP-13": (
            "`revision_conflict` details: `expected_revision`, `current_revision` (`actual_revision`), "
            "`last_updated_at`, `changed_section_keys` (bounded, and really the keys changed since the expected "
            "revision), `guidance`."
        ),
        "CP-14": (
            "Finalize is fail-closed: sections `scope`, `findings` with substance, `qa` with a parsed verdict "
            "(`verdict: pass|fail|…`, or `verdict_other:` with any word), all refs resolvable; else "
            "`finalize_validation` with `missing_sections`, `missing_fields`, `invalid_refs`, all at once. Drafts "
            "stay free. A finalized pack is changed only by an explicit reopen or re-finalize, never by an omitted "
            "status."
        ),
        "CP-15": (
            "Refs: repo-relative, confined to the source root (no `..`, absolute path or symlink out); content hash "
            "kept at write time, so drift is told from staleness; one bad ref becomes a marker, never fails the "
            "whole read."
        ),
        "CP-16": (
            "Rendering is injection-proof: titles with newlines cannot forge LEGEND lines; snippets containing "
            "fences get longer fences."
        ),
        "CP-17": (
            "Storage in SQLite by default (PostgreSQL for many hosts): atomic, crash-safe (`kill -9` loops lose "
            "nothing acknowledged), optimistic concurrency; nothing unreadable is ever deleted, it is quarantined and "
            "reported. Names are unique among packs that have not expired: an expired name never blocks a new pack, "
            "and of two processes creating one name exactly one wins. A pack that is adopted from its own export is "
            "the same pack, times included; `--share-name` alone makes twins."
        ),
        "CP-18": (
            "Size limits with clear errors; deletion by id or name, `not_found` by either where there is no such "
            "pack; expired packs are purged only after grace, in the background."
        ),
        "CP-19": "A description-only section is rendered like any other chunk; the verdict shows in the summary.",
        "CP-20": (
            "`toolcrib pack list|show|write|finalize|ttl|delete` on the command line; multi-agent handoff shown in "
            "an example."
        ),
    },
    "toolsets.md": {
        "TS-1": (
            "`Toolset`: id (UUID), name, toolset_type, description?, enabled, created_at, updated_at. Pure: no key "
            "material, ever."
        ),
        "TS-2": (
            "Names: 1–24 of `[A-Za-z0-9-]`, unique per user (case counts, as in the SQL of the contract; enforced by "
            "the database, a lost race is `instance_name_exists`, never a 500). Descriptions ≤ 255 characters. "
            "Constants and validators are exported."
        ),
        "TS-3": (
            "Schema: tables `toolsets` and `app_toolset_configs` with the indexes and uniqueness of the contract, "
            "made by real migrations (up and down), on SQLite by default and PostgreSQL for many hosts. Types are "
            "seeded disabled."
        ),
        "TS-4": (
            "Store methods: get by id, get by name, create (insert only), update with `ApiKeyUpdate` (Keep | "
            "Set(value) | Set(None) clears), list, list by type, delete, get decrypted key."
        ),
        "TS-5": (
            "Encryption: AES-256-GCM, per-row salt and nonce, key derived by HKDF from one key-encryption key; "
            "associated data binds the ciphertext to its row, user, type and settings; versioned format with a key id; "
            "master key from environment, file or OS keyring, placeholders and short keys refused; rotation "
            "re-encrypts online; "
            'tampering, a wrong key and an old format are three distinct errors; a decryption failure is never "no '
            'key".'
        ),
        "TS-6": (
            "Service: list/create/get/update/delete instance, execute_instance_tool, is_instance_available, "
            "list/get/validate type, is_type_enabled, app-level get/set/list. PUT semantics: all fields but the key. "
            "Create requires an API key when the type does."
        ),
        "TS-7": (
            "create: name format → type exists → name unique → UUID → encrypt → insert. update: exists → owned → "
            "name format → unique if changed → key → write. execute: exists → owned → type enabled → instance "
            "enabled → key present → method exists → arguments valid → call. The order is tested: each failure is "
            "what the first failing check says, and nothing later happened."
        ),
        "TS-8": (
            "Errors with stable codes and status: `instance_not_found` 404, `instance_name_exists` 409, "
            "`invalid_instance_name` 400, `instance_not_owned` 403, `invalid_toolset_type` 400, plus disabled, "
            "not-configured, method-not-found. Messages come from one catalogue. Outward surfaces (HTTP, CLI, MCP) "
            "hide foreign instances as not found, by default."
        ),
        "TS-9": (
            "Types are pluggable: built in is `builtin-exa-web-search` (search, find similar, contents, answer; "
            "tested against a local server), any toolpack and any upstream MCP server can be a type (credential "
            "injected as header or environment), and installed packages can add types by entry point. A web service "
            "with an OpenAPI document (2.0 to 3.2) is a type, too: each operation is a tool that sends what the "
            "document says, or is refused with its reason."
        ),
        "TS-10": (
            "Tools of an enabled, available instance appear in the catalogue as `<instance name>:<method>`, so the "
            "gateway, cards and adapters serve them; listing respects both switches."
        ),
        "TS-11": (
            "Secrets never reach logs, errors, reprs, traces or tool results (tested by grep over everything emitted)."
        ),
        "TS-12": (
            "Concurrency: parallel creates and updates of one name or row end in exactly one winner; a `kill -9` "
            "loop loses nothing acknowledged."
        ),
        "TS-13": (
            "`toolcrib toolset types|enable|disable|create|list|update|delete|run|rotate-key` on the command line."
        ),
        "TS-14": (
            "The other types of the contract exist and are used: `ToolsetDefinition`, `ToolsetWithTools` (admin "
            "listing: type, name, description, app_enabled, tools), `AppToolsetConfig`, `ToolsetExecutionRequest` / "
            "`Response`, `ApiKeyUpdate`, `ToolsetScope` (parses `scope_toolset-<type>` from an OAuth scope claim; "
            "unknown scopes are ignored; a token limited by scopes reaches only those types)."
        ),
    },
    "gateway.md": {
        "GW-1.1": (
            'Grammar: `namespace ":" name ["@" version] ["#" hash8]`; namespace `[a-z][a-z0-9_-]{0,63}`, name '
            "`[A-Za-z_][A-Za-z0-9_.-]{0,127}`, version `[A-Za-z0-9._-]{1,32}`, hash8 `[0-9a-f]{8}`; whole id at most "
            "240 characters."
        ),
        "GW-1.2": (
            "Namespace: the configured server name when there is one, else inferred from the upstream tool name. "
            "`version` from upstream `_meta.version` (or equivalent) when declared."
        ),
        "GW-1.3": (
            '`hash8` is required when version is absent: first 8 hex digits of SHA-256 over `upstream_name + "\\n" '
            '+ canonical_shape`, where the shape is `{"properties":[sorted top-level '
            'names],"required":[sorted]}` in compact sorted-key JSON. Prose edits keep the id; a change of shape '
            "changes it; the *upstream* name goes in, so equal shapes under different prefixes differ."
        ),
        "GW-1.4": (
            "Name derivation by the separator that matched: dot or slash prefix is dropped from `name`; an "
            "underscore prefix (three or more segments) stays in `name`; with no prefix the namespace is `mcp` and "
            "the name is verbatim. Table to hold: `github.create_issue` + 1.4.0 → `github:create_issue@1.4.0`; "
            "`slack_send_message` → `slack:slack_send_message#…`; `read_file` → `mcp:read_file#…`; `weather.get` + "
            "2024-05 → `weather:get@2024-05`."
        ),
        "GW-1.5": "Two upstream tools with one id: `CatalogError`, naming both. Never silent disambiguation.",
        "GW-1.6": (
            "`parse_tool_id` / `format_tool_id` are the only code that knows the syntax, are inverse to each other "
            "(property test), and raise `CatalogError` on malformed input. The id is the sole correlation key "
            "between browse, hydrate, execute and the upstream tool."
        ),
        "GW-1.7": "No legacy `mcp:{name}` form anywhere.",
        "GW-2.1": (
            "Exactly these fields: id, name (≤ 64 chars), description (one line), tags (sorted, unique, ≤ 5, each ≤ "
            "24 chars), kind (`tool|agent|skill|internal`), namespace, has_schema, score (JSON only), cost_hint "
            "(rendered when > 0), side_effects (rendered when true)."
        ),
        "GW-2.2": (
            "Never a schema, example, free-form metadata, server URL or transport name, in any form. A test feeds "
            "hostile upstream tools (schemas stuffed in tags, descriptions with URLs of the configured server) and "
            "finds none of it on the card."
        ),
        "GW-2.3": (
            "Budgets in exact cl100k_base tokens of the *rendered* text: one card targets ≤ 60 and never exceeds 80; "
            "a browse response of n cards never exceeds 80·n + 32. A card that is over 80 after truncation raises "
            "`CatalogError`; no field but the description is ever shortened. The catalogue meets that error once, at "
            "registration: it reports the tool (`toolcrib status`, `doctor`) and leaves it out of pages, still "
            "executable by id; one bad tool never breaks a browse."
        ),
        "GW-2.4": (
            "Truncation: verbatim when it fits; else the longest prefix ending in `.`, `!` or `?` that fits; else a "
            "cut at budget − 1 tokens plus `…`. Same input, same bytes; never a broken code point; never an empty "
            "description where the original had text."
        ),
        "GW-2.5": "Order: score descending, then id ascending.",
        "GW-3.1": "Exactly one of `query` or `path`; both or neither is `ARGS_INVALID`.",
        "GW-3.2": (
            '`path = "/" [segment ("/" segment)*]`, segment `[a-z0-9][a-z0-9_-]{0,63}` or `*`. A trailing `/`, '
            "an empty segment, an upper-case letter: `PATH_INVALID`. Root segments are namespaces and start with a "
            "letter."
        ),
        "GW-3.3": (
            "`/` lists one card per namespace; `/github` its children; `/github/issues` a cluster's; "
            "`/github/issues/*` the same; `/github/issues/create_issue` the one leaf card. The tree is built from "
            "the catalogue deterministically, any node has a bounded number of children (default 24), and every tool "
            "is reachable by path. Tool names with upper-case letters or dots get a stable lower-case segment."
        ),
        "GW-3.4": (
            'Errors: `{"error": "PATH_INVALID"|"PATH_NOT_FOUND"|"ARGS_INVALID", "message", "path", '
            '"details"?}`. `PATH_NOT_FOUND` suggests the nearest existing paths in `details`.'
        ),
        "GW-4.1": (
            "Proxy mode: `tools/list` shows every upstream tool, each stripped to its id, its truncated description "
            'and the sentinel schema `{"type":"object"}`, plus `tool_hydrate` and `tool_execute`. Stripped '
            "entries are discovery only: calling one directly is a clear error that names `tool_execute`. Names that "
            "a strict client would refuse (`:` and `#`) can be served percent-encoded or in a provider-safe form, "
            "and every form is accepted back."
        ),
        "GW-4.2": "Gateway mode: exactly `tool_browse`, `tool_execute`, `tool_view` in `tools/list`.",
        "GW-4.3": "Hydration goes through one `Catalog.hydrate(tool_id)`, cached by tool id alone.",
        "GW-4.4": (
            "Arguments are validated against the hydrated schema *before* anything reaches upstream; a violation is "
            "`ARGS_INVALID` with every failing path, and the upstream saw nothing (a test counts calls)."
        ),
        "GW-4.5": (
            "`tool_execute` in gateway mode pipes the result through the context firewall: small results come back "
            "whole; large ones are stored as artifacts and come back as a `ResultEnvelope` with a bounded summary, "
            "typed facts worth knowing (shape, counts, keys, size), and handles."
        ),
        "GW-4.6": (
            "`tool_view(handle, selector)` drills into an artifact: line ranges, head/tail, text search with "
            "context, JSON path, table rows and columns, byte ranges; each answer bounded in tokens with a cursor to "
            "go on; a stale or foreign handle is a clear error."
        ),
        "GW-5.1": (
            "Per session: tools already browsed, hydrated or executed come first, ascending by id, with the content of "
            "their cards frozen at first sight; then, only if both parts are non-empty, one internal card "
            "`__cache_breakpoint__`; then the new cards ascending by id. The seen prefix is byte-stable (property test "
            "over random sequences of browses)."
        ),
        "GW-5.2": "`score` is kept on every card. Position means nothing in this mode.",
        "GW-5.3": "No marker on a first browse, nor when all are seen, nor when all are new.",
        "GW-5.4": "`tools/list` never carries the marker.",
        "GW-5.5": "A failed hydration changes nothing (`HYDRATE_FAILED`).",
        "GW-6.1": (
            "Configuration: the `mcpServers` / `servers` JSON that clients already use (stdio `command/args/env`, "
            "`url/headers`, `type`/`transport` http and streamable-http), `${VAR}` and `${VAR:-default}` (unset "
            "without default fails closed), plus our own settings in the same file or `toolcrib.toml`. `toolcrib "
            "init` imports what is found in known client configs. `toolcrib serve --config FILE` with nothing else "
            "works."
        ),
        "GW-6.2": (
            "Both protocol eras, in any combination: handshake (≤ 2025-11-25) and stateless 2026-07-28, on the front "
            "and upstream; era is probed and bridged; an upstream failure is never an empty list. stdio, streamable "
            "HTTP and in-process upstreams; stdio and streamable HTTP fronts."
        ),
        "GW-6.3": (
            "Every page of `tools/list` is read (with a cap and a cursor-loop guard); `_meta.version` is seen; tools "
            "without description, with upper-case, digit-led or non-ASCII names are kept under a sanitised id, not "
            "dropped; one malformed tool is left out and reported, the rest are served."
        ),
        "GW-6.4": (
            "Upstreams start in parallel; a slow or dead one never delays the others; restart with backoff, circuit "
            "breaker, health in `toolcrib status`; four states (configured, known, started, in use), so that "
            "browsing needs no running server once its manifest is known."
        ),
        "GW-6.5": (
            "`list_changed` both ways: upstream changes re-list that upstream fully (debounced, trailing edge), the "
            "front notifies only when its own visible list changed."
        ),
        "GW-6.6": (
            "Pass-through without loss: content blocks of every type, structuredContent, `_meta`, unknown fields, "
            "progress, cancellation, logging, resources, prompts, completion, elicitation and sampling (relayed only "
            "where granted). The official conformance suite gives identical per-scenario results against a fixture "
            "directly and through the proxy, in both eras."
        ),
        "GW-6.7": (
            "Deadlines per call owned by us; a reply that cannot be parsed is an upstream error at once, not a "
            "timeout; line length capped; stdout noise tolerated and counted; stderr drained."
        ),
        "GW-6.8": (
            "Errors keep their meaning on live transports: `ARGS_INVALID`, `PATH_INVALID`, `PATH_NOT_FOUND`, "
            "`HYDRATE_FAILED`, `VIEW_FAILED`, `TOOL_NOT_FOUND`, `TOOL_CHANGED`, `POLICY_DENIED`, `APPROVAL_REQUIRED`, "
            "`AUTH_REQUIRED`, `AUTH_FAILED`, `RATE_LIMITED`, `BUDGET_EXCEEDED`, `UPSTREAM_ERROR`, `UPSTREAM_TIMEOUT`, "
            "`UPSTREAM_UNAVAILABLE`, `RESULT_TOO_LARGE`, `OUTCOME_UNKNOWN`, each with `retryable`. What a tool with "
            "codes of its own did not find is `NOT_FOUND`, and what it could not change is `CONFLICT`, with its codes "
            "beside."
        ),
        "GW-7.1": (
            "Cards travel in their *rendered* text form (the budgeted one), with structured JSON beside it where the "
            "client takes structured content; what is sent is what is counted. Required parameter names are shown "
            "when the budget allows. At least 5 cards by default, `limit` per call honoured."
        ),
        "GW-7.2": (
            "Gateway mode needs no hydrate round trip: an `ARGS_INVALID` answer carries every violation and the "
            'compact schema of what failed; `tool_browse` may ask for schemas of up to 3 hits (`detail: "schema"`).'
        ),
        "GW-7.3": (
            "Small results come back verbatim (no envelope tax: overhead ≤ 5 % of tokens over 200 tokens, 0 below); "
            "large ones as bounded summaries with handles. Summaries are structural (JSON shape, table head, log "
            "head/tail with counts), deterministic, never cut inside a token of JSON."
        ),
        "GW-7.4": (
            "Artifacts are content-addressed, owned by principal and session, expire, count against quotas, survive "
            "a restart (SQLite store). `tool_view` works in both modes."
        ),
        "GW-7.5": (
            'Artifacts as arguments: `{"$artifact": handle, "pointer"?: …, "patch"?: [RFC 6902]}` inside '
            "`args` is resolved server-side, owner-checked, validated after resolution."
        ),
        "GW-7.6": (
            "Deprecated, renamed or misspelt ids answer with a tool result the model can act on: did-you-mean, "
            "replaced_by."
        ),
        "GW-7.7": "`cache_stable` never drops the best new card; the marker takes no slot.",
        "GW-8.1": (
            "Definition pinning: on first use each tool's full digests are recorded; drift withholds the tool "
            "(`TOOL_CHANGED` with a diff) until re-approved (`toolcrib pins diff|approve`). Re-checked at execute."
        ),
        "GW-8.2": (
            "Scan of every upstream text for hidden characters and instruction-like content; hidden characters are "
            "refused, the rest flagged on the card and in `toolcrib doctor`. Names that look like ASCII are "
            "refused, and hidden text in an answer is pointed at."
        ),
        "GW-8.3": (
            "Risk: policy file with allow | deny | ask by glob, risk and server; unknown effects ask; upstream hints "
            "can only raise risk. Optional risk-split surface (`tool_execute_read` / `_write` / `_destructive`) so "
            "that host allow-lists keep working; a destructive call through `_read` is refused."
        ),
        "GW-8.4": (
            "Approvals bound to the exact call (runtime RT-10), carried by elicitation / input_required where the "
            "client supports it, else `APPROVAL_REQUIRED` with `toolcrib approvals list|grant|deny`."
        ),
        "GW-8.5": (
            "Sessions and principals are isolated: artifacts, seen-sets, budgets, approvals. HTTP front: bearer "
            "tokens or OAuth resource server, Origin and Host checks, body cap, no token pass-through."
        ),
        "GW-8.6": (
            "Secret redaction where promised, on every path that leaves (results, summaries, artifacts index, logs, "
            "errors); audit log: content-free, hash-chained, `toolcrib audit verify|tail`."
        ),
        "GW-8.7": (
            "Rate limits and budgets per principal, server and tool. Graceful shutdown: drain, cancel, no orphan "
            "process."
        ),
        "GW-9.1": (
            "`toolcrib_mcp` also serves any `Toolbox` as an MCP server (all annotations, output schemas, structured "
            "content, progress, approvals), and imports any MCP server's tools as runnable tools."
        ),
        "GW-9.2": (
            "Several replicas behind a load balancer answer identically: browse pages, view cursors, approvals and "
            "sessions travel in signed tokens or live in the shared store (PostgreSQL)."
        ),
        "GW-9.3": (
            "Names of the source document are kept where they fit: `ProxyRuntime(cache_stable=…)`, `Catalog.hydrate` "
            "→ `HydrationResult`, `ResultEnvelope`, `GatewayError(code=…)`, `CatalogError`, `ToolIdParts`, "
            "`infer_namespace`."
        ),
    },
    "clients.md": {
        "CL-1": (
            "A model gets the same information from a client that passes on `structuredContent` only (Claude Code, "
            "Codex, pydantic-ai, mcporter) and from one that passes on text only (Gemini CLI, OpenCode, "
            "openai-agents, langchain-mcp-adapters). A success of the meta-tools is text alone: no "
            "`structuredContent`, no `outputSchema`; an error's `structuredContent` is the same object as its text "
            '(document 004\'s structured envelope); cards and envelopes as JSON are in `_meta["io.toolcrib/…"]` for '
            "programs. A small result of a server passes as it came."
        ),
        "CL-2": (
            "The description of `tool_browse` and the server's instructions name what is behind it: a byte-stable "
            "digest (servers with a few words each, by coverage of the tree, ≤ 200 tokens for any number of servers; "
            "the same bytes as long as the catalogue is the same)."
        ),
        "CL-3": (
            "Ids are accepted in every form a model may write, if exactly one tool is meant: with or without "
            "`#hash8`, wire name, upstream name with server, unique bare name. Errors use the name the caller used."
        ),
        "CL-4": (
            'Every tool can be read whole: `detail: "full"` with one id gives the complete description and the '
            'complete schema, nothing elided. `detail: "schema"` elides only what it says it elides, with the way to '
            "the rest."
        ),
        "CL-5": (
            'A page of results ends where relevance drops (no padding to eight); "nothing fits" is said only when '
            "nothing fits (calibrated on the query sets: ≤ 2 % of answered queries, ≥ 80 % of queries without an "
            "answer). `exact name` is always first."
        ),
        "CL-6": (
            "Results up to 4,000 tokens (setting) come whole. A result that a server sends twice (text and "
            "structured) is stored and listed once. Content kinds are recognised: `git log`, diffs, shebang scripts "
            "and `#` comments are not YAML or Markdown."
        ),
        "CL-7": (
            "No resource limit that was not configured: no address-space limit by default (Chromium reserves "
            "terabytes). Defaults of every limit are in the reference and shown by `doctor`."
        ),
        "CL-8": (
            "The environment of a server is what its user's session has for finding things (display, agent socket, "
            "kube config, proxies, CA files, locale, XDG), not secrets: a documented list, `inheritEnv` to add names, "
            "patterns or `*`."
        ),
        "CL-9": (
            "`type: sse` upstreams work (deprecated transport, still in most client files). `envFile`, "
            "`${workspaceFolder}`, `${VAR:-default}`, a command with its arguments in one string: understood. One "
            "server that cannot be used is left out with its reason; the others are served."
        ),
        "CL-10": (
            "Pins settle: a definition that differs between two starts only by the order inside a text list (`a,b` / "
            "`b,a`) or of an unordered JSON array is the same definition; `pins: off|warn|enforce` per server; a page "
            "of results says how many tools of which servers are withheld and what a person can do."
        ),
        "CL-11": (
            "toolcrib never starts itself without end: a process knows its depth, and a configuration that leads back "
            "to itself is refused with a sentence."
        ),
        "CL-12": (
            "`initialize` and the fixed `tools/list` are answered at once, whatever the servers do: no server, one "
            "hanging server (33 s today), 30 hanging servers within ×1.2 of each other, and a cold `toolcrib serve` "
            "answers with at most 0.6 s of CPU (3.2 s today: `import mcp` alone is 2 s, the sentence model and the "
            "database are not needed to answer). Servers start in parallel behind it; a search that comes earlier "
            "answers from the manifest of known tools and says what is still starting."
        ),
        "CL-13": (
            "Servers start when they are first needed where their tools are known from an earlier start (`start: "
            "lazy|eager|…`), and stop after idle minutes (setting). A change of `mcp.json` is served within two "
            "seconds without a restart: added, removed, changed servers only."
        ),
        "CL-14": (
            "`toolcrib init` finds and reads all of: Claude Code (user, project, **local scope under `projects`**, "
            "`disabledMcpjsonServers`, `headersHelper`), Claude Desktop, Cursor, VS Code (with inputs and their "
            "defaults), Codex TOML, Gemini CLI (`includeTools`/`excludeTools` become filters), OpenCode, Zed, "
            "Windsurf, Copilot CLI, Cline, Goose, LM Studio. Nothing is dropped silently."
        ),
        "CL-15": (
            "Secrets are told from settings (`LOG_LEVEL=debug` is no secret; a token inside a URL or an argument is). "
            "They go into an env file with mode 0600 beside the configuration (or the keyring), never in clear into "
            "`mcp.json`; `toolcrib secrets list|set|rm`. After `init` everything works without setting a variable by "
            "hand."
        ),
        "CL-16": (
            "`toolcrib install CLIENT` / `uninstall CLIENT` writes the entry into the client's own file (atomic, with "
            "a backup, `--dry-run`, `--print`), absolute paths included, with the settings that client needs (Codex: "
            "approval mode or by-risk; Claude Code: scope). `toolcrib install --list` shows which clients are there."
        ),
        "CL-17": (
            "`toolcrib serve module:toolbox` (and `--toolbox`) serves Python tools; `toolcrib call`, `search`, "
            "`browse`, `export` take it, too."
        ),
        "CL-18": (
            "Progress: starting servers shows `12 of 28 ready, waiting for jira, playwright`; `status --watch` is "
            "live; time-outs name the limit and the setting."
        ),
        "CL-19": (
            "The default policy is bearable and safe: a tool that its server declares read-only and that the scan "
            "does not flag runs; another is asked about **once per tool**, with the answers *once · this session · "
            "always for this tool · always for this server · no · never*; what is declared destructive is asked about "
            'each time unless "always" was said. Answers are remembered as rules that `toolcrib policy` shows and '
            "undoes. Goal: the 15-task day of the study asks ≤ 6 times, the same day again 0 times."
        ),
        "CL-20": (
            "The elicitation form is one choice, no box to tick. A client without elicitation gets a short id "
            "(`approve K7Q`), the command and the address of the console; `approvals grant K7Q [--always]`. "
            "`approvals: client` leaves asking to a client that asks itself; `install` sets what fits."
        ),
        "CL-21": (
            "Messages are true: a tool whose server declares `readOnlyHint` is never said to be undeclared. A pack's "
            "own `requiresApproval` reaches the gateway, and there is one gate: what was approved runs."
        ),
        "CL-22": (
            "What a principal may never call is not listed, searched, suggested or counted for it (property test: no "
            "byte of a denied definition reaches it, in any mode)."
        ),
        "CL-23": (
            "`scripts/clients` runs the real clients (Claude Code, Codex, Gemini CLI, OpenCode, mcporter, MCP "
            "Inspector from npm; FastMCP, mcp SDK, pydantic-ai, openai-agents, langchain-mcp-adapters from PyPI), "
            "each in an environment of its own with an empty home, over stdio and HTTP with a bearer token, before "
            "**fake model endpoints** that speak the vendors' APIs and record every request. It asserts on what the "
            "model was sent: the three tools, a page of cards, a large result's summary and handle, an ARGS_INVALID, "
            "an approval; and prints a table client × transport × what was seen. CI runs at least four of them."
        ),
        "CL-24": (
            "`scripts/servers` installs ≥ 25 real servers from npm and PyPI (the study's list), lists and safely "
            "calls each directly and through toolcrib, and prints the differences: none expected but those that are "
            "explained."
        ),
        "CL-25": (
            "`scripts/day` replays the 15 tasks of the study as a scripted agent against those servers, prints calls, "
            "tokens, questions asked, wrong turns; figures on the page of benchmarks."
        ),
    },
    "contracts.md": {
        "CT-1": (
            "One gate: an approved toolpack call runs. Today the inner toolbox of `cli/toolpack` has a second gate "
            "that nobody can grant, while a pack's `requiresApproval` never reaches the gateway's policy. `toolpack "
            "run` can be approved, too (`--yes`, terminal question)."
        ),
        "CT-2": (
            "A schema is checked against **its own** dialect before it is upgraded: draft-07 `exclusiveMinimum: true` "
            "or draft-04 `required: []` is an error, never a silently dropped constraint (`core/definition.py`, "
            "`toolpacks/refs.py`)."
        ),
        "CT-3": (
            "What a server or script says of a failure reaches the model: the excerpt of an HTTP 4xx/5xx, bounded, "
            "scrubbed and marked as the server's words, is in the text every provider gets and in the command line's "
            "output."
        ),
        "CT-4": (
            "Gemini names start with a letter or an underscore; every adapter's names satisfy its SDK's own validators."
        ),
        "CT-5": (
            "stderr beyond its bound is dropped, not a reason to kill a call that succeeds; internal file names are "
            "in no message."
        ),
        "CT-6": ("An OpenAI item that is `in_progress` or has empty arguments is not a call with `{}`."),
        "CT-7": (
            "NUL in arguments is judged the same in objects and in JSON text. A pack written by `json.dumps` "
            "(surrogate-pair escapes) loads. An unknown execution kind is named in the message, with path "
            "`execution.kind`."
        ),
        "CT-8": (
            "`reviewer` loses nothing: no cut in `why`, titles, descriptions, code lines; what does not fit a page "
            "continues on the next; where a compact profile cuts, a mark and the way to the rest are there "
            "(`chunks.py`, `quoting.py`, `profiles.py`, `render.py`)."
        ),
        "CT-9": (
            "Export and import are exact: a pack adopted from its own export is the same pack, timestamps included; "
            "twins are `ambiguous`, not chosen by invisible digits."
        ),
        "CT-10": (
            "`invalid_instance_name`, and every code of the toolsets contract, is what HTTP answers; 404/405 bodies "
            "have the same shape; `Toolset` leaves out a null description; the seeded type has a real timestamp; "
            "`list_all_tool_definitions` exists; `FunctionDefinition` and `toolset_id` of the document are there by "
            "their names."
        ),
        "CT-11": ("`cache_stable`: ids that were hydrated or executed count as seen (document 004 §5.1)."),
        "CT-12": (
            "`ARGS_INVALID` of `tool_execute` has the shape of §3.4, `path` included. Pages by path are in the order "
            "of GW-2.5. No transport name stays in card prose. `ProxyRuntime(cache_stable=True)` has `browse` and "
            "does what §5 says; a failed hydrate is `HYDRATE_FAILED` where the document says so."
        ),
        "CT-13": ("`contains` matches rendered text only (or the code of a chunk is rendered then)."),
        "CT-14": (
            "Documentation that document 001 asks for: deprecation and alias examples, `ToolContext` and its "
            "layering, escaping rules of ids, the JSON Schema draft; `toolbox.invalid-output` in the list of codes."
        ),
        "CT-15": (
            "`to_*_tools` takes a toolbox, a list of runnable tools, one definition, a registry; anything else gets a "
            'sentence. One tool whose parameter names a provider forbids can be skipped (`on_illegal="skip"`, '
            "reported) instead of failing the batch."
        ),
        "CT-16": (
            "The umbrella has `toolcrib.core`, `toolcrib.runtime`, `toolcrib.openai` … as subpaths, vendor SDKs as "
            "optional extras, top-level names with the deprecation note the document asks for; `python -m toolcrib` "
            "works; a public `ToolId` type."
        ),
        "CT-20": (
            "*Ids.* Document 001 for tools defined in a program: `namespace:name[@version]`, no hash "
            "(`default:forecast`). Document 004 for tools that come from MCP servers: `#hash8` when there is no "
            "version. Every lookup accepts an id with or without its hash if one tool is meant (CL-3). Errors show "
            "the id the caller used."
        ),
        "CT-21": (
            '*Versions.* `resolve` prefers releases to pre-releases; `version_selector="highest"` is the document\'s '
            "letter; the decision record says so."
        ),
        "CT-22": (
            "*Loader.* `load_dir` adds to what is loaded; the same id twice is an error naming both files, whichever "
            "call loaded it; `reload()` replaces. Several folders are one catalogue."
        ),
        "CT-23": (
            "*Caps are optional*, as the document says: without them a pack may do what its kind needs (start its own "
            "program; reach its own URL's host) and nothing else. What it may do is printed by `toolpack list`. "
            "Operators widen with `--grant-path`, `--grant-env`, `--allow`; interpreters in user directories (pyenv, "
            "nvm, venvs) and user data folders can be granted."
        ),
        "CT-24": (
            "*Templates* are sandboxed Jinja2 as users know it: expressions, arithmetic, `~`, `if`, `for`, the usual "
            "filters and tests, in `ImmutableSandboxedEnvironment` with bounds on iterations, output size and time; "
            "schema defaults fill the input before rendering; `lint` warns of a value that may be absent."
        ),
        "CT-25": (
            "*Text programs.* `cli` and `http` take `input: json|text|args|form|none` and `output: "
            "json|text|lines|csv`; request bodies are shaped by a template or by `body: [names]`, responses by a JSON "
            "pointer or JSONPath. `date`, `git log`, `jq` and a form post are one file each, and are examples."
        ),
        "CT-26": (
            "*Context packs.* Names are unique among packs that are not expired; an expired name never blocks a new "
            "pack. `input get` has a `document` member that can be written back as it is. `ttl` does not bump the "
            "revision. `read` takes `freshness=expired`. Verdicts: the known list plus any word under "
            "`verdict_other`, never refused in drafts. Not-found and conflicts of packs keep their own codes through "
            "the gateway. `delete` of what is not there says so the same way for id and name. Compact summaries show "
            'the section `scope`, count no section titles as findings, and read "no known risks" as none.'
        ),
        "CT-27": (
            "*Toolsets.* Names compare as the document's SQL does (case counts) on both databases. Messages are the "
            "document's. `serve` without MCP servers but with toolsets, packs or toolpacks works. The management API "
            "has a guide."
        ),
        "CT-28": (
            "*Namespaces.* With a server name in the configuration the namespace is that name, and a prefix of the "
            "upstream name that repeats it before `.`, `/` or `__` is dropped (`github` + `github.create_issue` → "
            "`github:create_issue`; `weather` + `weather__forecast` → `weather:forecast`), reversibly, collisions "
            "loud; a single underscore stays (`slack:slack_send_message`, document 004 §1.4)."
        ),
        "CT-29": ("*A write that times out* stays `unknown_outcome` with the timeout as its cause."),
    },
    "views.md": {
        "VW-1": (
            "A *profile* names servers, tools, prompts, resources (patterns, tags, risk classes) and overrides; "
            "clients choose one by path (`/mcp/PROFILE`), header, token claim or `serve --profile`; several profiles "
            "are served by one process. Without profiles there is one, with everything."
        ),
        "VW-2": (
            "What a caller sees = profile ∩ policy(principal, groups from token claims) ∩ pins ∩ toolset ownership, "
            "computed in **one place** that list, search, tree, did-you-mean, counts, digest, hydrate, execute, "
            "prompts, resources, completions, subscriptions and notifications all use. What is not in it does not "
            "exist for the caller: same answer, same error, same timing class as for a tool that was never there."
        ),
        "VW-3": (
            "Overrides: name, title, description, tags, hidden or fixed arguments, default arguments, per tool or "
            "pattern. A fixed argument cannot be overridden by the caller and is not in the schema. Pins judge the "
            "upstream's definition and the override separately; `toolcrib profile diff`."
        ),
        "VW-4": (
            "`toolcrib profile list|show|explain TOOL|test`; `explain` says which rule of which file shows or hides a "
            "tool, for whom. Edits count within two seconds; bad files are refused whole, with line and reason, and "
            "the last good state stays."
        ),
        "VW-5": (
            "Tools can stay visible beside the meta-tools (`visible: [ids or patterns]`, token budget shown by "
            "`stats`); they are called by name, through the same pipeline."
        ),
        "VW-6": (
            "Cost: a view is compiled once per (catalogue snapshot, profile, principal's groups); at 10,000 tools a "
            "browse costs ≤ ×1.2 of one without views; memory per additional principal ≤ 64 KiB."
        ),
        "VW-7": (
            "Proof: property test over generated catalogues × policies × profiles: no byte of a hidden definition "
            "reaches the caller by any method, in all modes, both eras, three replicas; timing class by a statistical "
            "test."
        ),
    },
    "connections.md": {
        "CN-1": (
            "Discovery as the 2026-07-28 revision says: protected-resource metadata, authorization-server metadata "
            "(OAuth and OIDC), `WWW-Authenticate` scope, resource indicators, PKCE S256, `iss` check, issuer-bound "
            "credentials. Client registration in this order: pre-registered → Client ID Metadata Document → dynamic "
            "registration. Step-up on `insufficient_scope`."
        ),
        "CN-2": (
            "`toolcrib connect SERVER` opens the browser (or prints the link; `--device` where offered), receives the "
            "code on a loopback port, and says who is connected and until when. `toolcrib connections "
            "list|show|rm|test`. Over stdio and HTTP a client gets the link by URL elicitation, else in the error "
            "text; a card of a tool whose server needs it says `needs connection`."
        ),
        "CN-3": (
            "Also: client credentials (secret and private-key JWT), token exchange (RFC 8693), and enterprise-managed "
            "authorization (ID-JAG) where the SDK has it. Static headers and keys as before."
        ),
        "CN-4": (
            "A connection belongs to a principal (the local user over stdio) and a server; never one token for all, "
            "unless the operator says `connection: shared`. Tokens, refresh tokens and client secrets are encrypted "
            "in the store under the toolsets' key handling (AAD: principal, server, issuer, resource), never in logs, "
            "errors, audit, `repr`, exports."
        ),
        "CN-5": (
            "Refresh: before expiry and on 401, once per rotation whatever the number of concurrent calls and "
            'replicas (a lease in the store); a replica killed between "refreshed" and "stored" loses no grant that '
            "could be kept (write-ahead, retry with the old token inside the server's grace, else `needs connection` "
            "with the reason). A call is repeated after a refresh only if it was refused before it ran."
        ),
        "CN-6": (
            "Sign-out revokes at the server where it can. A connection that stops working says so in `status`, "
            "`doctor`, the console and the card, and one click or command repairs it."
        ),
        "CN-7": (
            "Loopback redirect, state, PKCE, mix-up, open redirect, token in URL, redirect to another issuer, "
            "metadata over http, SSRF through metadata URLs (the network guard applies), oversized and slow metadata: "
            "each refused, each a test."
        ),
        "CN-8": (
            "Proof with servers nobody here wrote: the official conformance suite's `client --suite auth` (all "
            "scenarios), npm `oidc-provider` with refresh rotation and CIMD, the SDK's own authorization server, "
            "Debian `glewlwyd` as a second kind. 200 kill -9 rounds with two replicas on PostgreSQL: 0 lost grants, 0 "
            "double refreshes, canary 0."
        ),
        "CN-9": (
            "The same machinery at our own door (`serve --http`): besides bearer tokens and external OAuth, `--auth "
            "local`: an authorization server for claude.ai-like clients (authorization-server metadata, CIMD, DCR for "
            "older clients, PKCE, consent page that shows the profile and the risk classes that the client gets, "
            "refresh rotation, revocation), login by operator-issued code or an external OIDC provider. mcp SDK "
            "client, mcp-remote and the Inspector in Chromium connect to it with nothing configured but the address."
        ),
    },
    "protocol.md": {
        "PX-1": (
            "Extensions are negotiated, not dropped: the client's `extensions` reach servers (where granted), "
            "servers' are merged per server and announced truthfully; unknown methods of an extension are routed to "
            "the one server that announced it, or by the namespaced id in their params; nothing is announced that "
            "cannot happen. In all modes, any number of servers."
        ),
        "PX-2": (
            "Resource URIs of different servers never collide: where two servers offer the same URI (`ui://…` above "
            "all), ours are namespaced reversibly in lists, tool `_meta`, results, links, subscriptions and reads. A "
            "page of one server is never answered for another's tool."
        ),
        "PX-3": (
            "Apps: UI resources are pinned and diffed like tools, their CSP can be narrowed by policy, calls from an "
            "app pass the call pipeline, and tools with a UI stay usable in gateway mode (the UI metadata travels "
            "with the result of `tool_execute`). Proof with npm `ext-apps` host and two example servers in Chromium: "
            "screenshot equal to direct; a hostile pair."
        ),
        "PX-4": (
            "Tasks: relayed with namespaced ids over any number of servers; a client without tasks gets a handle for "
            "`tool_view` when a call outlasts a setting; a server without tasks can be run as one by us (durable in "
            "the store, survives kill -9 as `unknown_outcome`, never a second effect; approval = `input_required` of "
            "the task). Suite's `tasks-*` scenarios pass directly and through the proxy."
        ),
        "PX-5": (
            "Skills (`skills/list`, `skills/get`): aggregated, pinned, found by `tool_browse` beside tools (kind "
            "`skill` of the card), own folders served; suite's `skills-extension`."
        ),
        "PX-6": (
            "`/metrics` (Prometheus text) on the HTTP front and `--metrics HOST:PORT` for stdio: calls, errors, "
            "latency histograms by server/tool/outcome (bounded cardinality), tokens saved, artifacts, approvals "
            "waiting, upstream states; OTel metrics under the semantic conventions from the same instruments. Proved "
            "by a real Prometheus from Debian that scrapes it."
        ),
        "PX-7": (
            "`toolcrib add NAME|server.json|FILE` takes a server from a registry document (official `server.json`, "
            "v0.1 API over HTTP, Docker catalogue YAML), shows what it would run, asks for its variables, pins it. "
            "`toolcrib preflight` checks that everything a profile needs is there (exit code for CI and cron)."
        ),
        "PX-8": (
            "Audit is searchable: filters by time, principal, server, tool, outcome; follows; exports; the same query "
            "in the console."
        ),
    },
    "console.md": {
        "CO-1": (
            "`toolcrib console` opens it (a running `serve --http` serves it at `/console`; over stdio it attaches to "
            "the running processes through the state folder and listens on loopback only, with a one-time link that "
            "sets a session cookie). `--no-console` turns it off."
        ),
        "CO-2": (
            "Pages: **Overview** (servers with state and reason, calls per minute, errors, p50/p95, tokens saved, "
            "approvals waiting; live) · **Catalogue** (search as the model sees it, browse tree, card with token "
            "count, whole schema, risk and why, findings of the scan, *try it* with a form from the schema) · "
            "**Calls** (live and history, filters, timing of each stage, links to artifacts) · **Approvals** (inbox: "
            "exact call, arguments with a diff to the last similar call, policy that asked; once/session/always/deny; "
            "browser notification; webhook) · **Pins** (diff side by side, approve) · **Policy and profiles** (rules, "
            "explain, who sees what, edit with preview of what changes) · **Connections** (connect, repair, sign out; "
            "own toolsets and keys) · **Artifacts** (view with the same selectors) · **Context packs** (read per "
            "profile, revisions) · **Audit** (search, verify the chain in the browser) · **Tokens and clients** "
            "(create, revoke; `install` lines)."
        ),
        "CO-3": (
            "Every action shows the command that does the same; every page has a stable address; keyboard and screen "
            "reader work (axe: 0 violations); light and dark; a narrow window works; numbers have units; long work "
            "shows progress; charts for rates, latencies, tokens."
        ),
        "CO-4": (
            "Roles: operator sees all, a user only what is theirs; the same view computation as the gateway (VW-2). "
            "CSRF, clickjacking, XSS by tool names, descriptions, results, arguments (all hostile): nothing from a "
            "server is ever markup; strict CSP without `unsafe-*`; no foreign host; cookies `HttpOnly`, "
            "`SameSite=Strict`; session bound; rate limits."
        ),
        "CO-5": (
            "Small stack: server-rendered HTML on maintained Python libraries (template engine, ASGI), one small "
            "script of our own for live updates (server-sent events), forms and keyboard, charts as SVG rendered on "
            "the server by a maintained library; no third-party script is committed (one that a PyPI dependency ships "
            "may be served from there); no Node needed to install or build. First load ≤ 150 kB; p95 of a page ≤ 100 "
            "ms at 10,000 tools and 100,000 audit records; a live page costs ≤ 2 % of a core when idle."
        ),
        "CO-6": (
            "Tested in a real browser (Debian Chromium driven by a maintained driver) page by page, with real servers "
            "behind, screenshots kept by the test run; two users against each other; 10,000 tools; an approval "
            "granted in the page runs the waiting call of a real client."
        ),
    },
    "engine.md": {
        "EN-1": (
            "`toolcrib-ray` (a package of its own, optional): `RayExecutor` runs Python tools and toolpacks (all five "
            "kinds) on a Ray cluster; `resources` per tool or pack (CPUs, memory, GPUs, custom labels, runtime "
            "environment), placement by label, autoscaling left to Ray. One line turns it on: `create_toolbox(…, "
            "executor=RayExecutor(address))`, `executor: ray` in a configuration, `toolcrib serve --executor ray://…`."
        ),
        "EN-2": (
            "The same promises as locally: deadline and cancellation really end the work on the other machine; "
            "events, progress and logs come back; arguments and results are JSON; large results are stored as "
            "artifacts where they arise and passed by handle; secrets travel encrypted and are never in Ray's logs or "
            "dashboards; effect-safe retries; a node that dies is `unknown_outcome` unless the tool is idempotent, "
            "then it moves."
        ),
        "EN-3": (
            "Backpressure: the queue is bounded, fair per principal, and full is an error that says when to try "
            "again. Warm actors per tool; 1,000 calls of one tool from one replica never start 1,000 processes."
        ),
        "EN-4": (
            "The conformance kit: one test suite for executors (`toolcrib_runtime.testing.executor_suite`) that "
            "Local, Process and Ray all pass; it is public, so that others can write theirs."
        ),
        "EN-5": (
            "Proof with a real cluster on one machine (several raylets by Ray's own cluster tool): kill worker, "
            "raylet, head, driver at every stage, 200 rounds: 0 second effects, 0 lost acknowledged results, 0 leaked "
            "processes; overhead against ProcessExecutor printed; throughput grows with nodes for CPU-bound work "
            "(×1.8 with two nodes of one core)."
        ),
        "EN-6": (
            "`docs/how-to/scale.md`: from laptop to replicas to cluster, with a compose file and Kubernetes manifests "
            "(KubeRay, PostgreSQL, N replicas) that are validated by schema in tests, and a capacity model: measured "
            "cost per call × simulation to 10,000 users / 1,000,000 tools / 100 replicas, with what breaks first."
        ),
    },
}

REQUIREMENTS: tuple[Requirement, ...] = tuple(
    Requirement(id=key, source=source, text=text, pending=_pending_reason(key), note=_NOTES.get(key))
    for source, texts in _TEXTS.items()
    for key, text in texts.items()
) + tuple(
    Requirement(
        id=each.id, source=each.source, text=each.text, pending=each.pending, note=None, deviation=each.deviation
    )
    for each in STATEMENTS
)
