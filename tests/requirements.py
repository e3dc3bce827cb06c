"""Every requirement of the product: its id, its sentence, the specification it stands in, and whether it is built.

A test proves a requirement by carrying `@pytest.mark.req("AR-2.3")`. `scripts/requirements --check` fails when one that
is not pending has no test. Building a part means taking its line out of `_PENDING`.
"""

from __future__ import annotations

from dataclasses import dataclass

# The longest matching prefix decides; `None` means built.
_PENDING: dict[str, str | None] = {
    "AR": None,
    "RT": None,
    "AD": None,
    "TP": None,
    "CP": None,
    "TS": None,
    "GW": None,
}

# What a built requirement says beyond what is built: the rest comes with the part that is named.
_NOTES = {
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
            "Wire names: a reversible codec ToolId ↔ provider-legal tool name (`[A-Za-z0-9_-]`, ≤ 64, minus a prefix "
            "budget such as `mcp__server__`), deterministic, independent of registration order, collision = error "
            "naming both ids. Readable where it can be (`github__create_issue`), hashed suffix where it must."
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
            "`method`, string `headers`; node `script`/`node`/`module` plus `args`; php `php` or `script`, optional "
            "`phpBinary`."
        ),
        "TP-7": (
            "`caps.network` ⊆ {http, https}; `caps.filesystem` = lists under `read`/`write`; `caps.subprocess` "
            "boolean. Cross-checks: cli/node/php need `subprocess: true`; an http url's scheme must be in "
            "`caps.network`; paths may not climb out of the pack's root."
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
            "`http` all really run. Subprocess protocol: JSON on stdin, one JSON document on stdout, stderr head "
            "kept for errors."
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
            "The child's environment holds only what `env.passthrough` and `env.set` name, plus what the interpreter "
            "needs to start."
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
            "Templating: sandboxed Jinja2 with strict undefined; `input`, `context` and allow-listed `env` only; "
            "rendered into single argv items, headers, URL parts (URL-escaped); never through a shell."
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
            "it, it updates and requires `expected_revision`. Legacy fields and actions (op, section_key, "
            "get/mode/cursor/match …) are rejected with guidance."
        ),
        "CP-4": "`validate_only=true` runs every check and persists nothing.",
        "CP-5": (
            "`ttl` takes exactly one of `ttl_minutes` (from now) or `extend_minutes` (from the later of now and "
            "expiry)."
        ),
        "CP-6": (
            "Freshness `fresh|expiring_soon|expired`; default lists hide expired packs; `freshness=expired` shows "
            "them during the grace period (`CONTEXT_PACK_EXPIRED_GRACE_SECONDS`, default 900), after which they are "
            "unavailable. `freshness_state`, `expires_at`, `ttl_remaining` on every list and read; warnings in "
            "human-readable output."
        ),
        "CP-7": (
            "`output read(name=…)`: finalized before draft, then latest `updated_at`, then highest `revision`, else "
            "`ambiguous` with `details.candidate_ids`. LEGEND carries `selected_by`, `selected_revision`, "
            "`selected_status`."
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
            "`mutually_interchangeable` as they apply."
        ),
        "CP-13": (
            "`revision_conflict` details: `expected_revision`, `current_revision` (`actual_revision`), "
            "`last_updated_at`, `changed_section_keys` (bounded, and really the keys changed since the expected "
            "revision), `guidance`."
        ),
        "CP-14": (
            "Finalize is fail-closed: sections `scope`, `findings` with substance, `qa` with a parsed verdict "
            "(`verdict: pass|fail|…`), all refs resolvable; else `finalize_validation` with `missing_sections`, "
            "`missing_fields`, `invalid_refs`, all at once. Drafts stay free. A finalized pack is changed only by an "
            "explicit reopen or re-finalize, never by an omitted status."
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
            "nothing acknowledged), optimistic concurrency; nothing unreadable is ever deleted, it is quarantined "
            "and reported. Two processes creating one name: exactly one wins."
        ),
        "CP-18": (
            "Size limits with clear errors; deletion by id or name; expired packs are purged only after grace, in "
            "the background."
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
            "Names: 1–24 of `[A-Za-z0-9-]`, unique per user (case-insensitively, enforced by the database, a lost "
            "race is `name_exists`, never a 500). Descriptions ≤ 255 characters. Constants and validators are "
            "exported."
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
            "associated data binds the ciphertext to its row and user; versioned format with a key id; master key "
            "from environment, file or OS keyring, placeholders and short keys refused; rotation re-encrypts online; "
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
            "injected as header or environment), and installed packages can add types by entry point."
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
            "Per session: cards already seen come first, ascending by id, with content frozen at first sight; then, "
            "only if both parts are non-empty, one internal card `__cache_breakpoint__`; then the new cards "
            "ascending by id. The seen prefix is byte-stable (property test over random sequences of browses)."
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
            "`HYDRATE_FAILED`, `VIEW_FAILED`, `TOOL_NOT_FOUND`, `TOOL_CHANGED`, `POLICY_DENIED`, "
            "`APPROVAL_REQUIRED`, `AUTH_REQUIRED`, `AUTH_FAILED`, `RATE_LIMITED`, `BUDGET_EXCEEDED`, "
            "`UPSTREAM_ERROR`, `UPSTREAM_TIMEOUT`, `UPSTREAM_UNAVAILABLE`, `RESULT_TOO_LARGE`, `OUTCOME_UNKNOWN`, "
            "each with `retryable`."
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
            "refused, the rest flagged on the card and in `toolcrib doctor`."
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
}

REQUIREMENTS: tuple[Requirement, ...] = tuple(
    Requirement(id=key, source=source, text=text, pending=_pending_reason(key), note=_NOTES.get(key))
    for source, texts in _TEXTS.items()
    for key, text in texts.items()
)
