"""Every row of the fault matrix: what goes wrong, what must come of it, and whether its part is built.

A test proves a row by carrying `@pytest.mark.fault("A5")`. Building a part means taking its line out of `_PENDING`.
"""

from __future__ import annotations

from typing import NamedTuple

# By row, else by group; `None` means built.
_PENDING: dict[str, str | None] = {
    "A": None,
    "B": None,
    "C": None,
    "D": None,
    "E": None,
    "F": None,
    "G": None,
    "H": None,
    "I": None,
    "J": None,
    "K13": None,
    "K14": None,
    "K15": None,
    "K17": None,
    "K21": None,
    "K": "comes with the closing of the security review",
    "K4": "subscriptions to resources do not pass the checkpoint yet",
    "K22": "error messages, completions and questions of servers are not read for hidden characters yet",
    "K5": None,
    "K9": None,
    "K7": None,
    "K8": None,
    "K16": None,
    "K23": None,
    "K3": None,
    "K12": None,
    "K19": None,
    "K20": None,
    "K18": None,
    "K6": None,
    "K11": None,
}


class Fault(NamedTuple):
    """One row: after the expected outcome the next good call succeeds."""

    id: str
    fault: str
    expected: str

    @property
    def pending(self) -> str | None:
        """Why no test proves this row yet, or nothing when one must."""
        return _PENDING[self.id] if self.id in _PENDING else _PENDING[self.id[0]]


FAULTS: tuple[Fault, ...] = (
    Fault(
        "A1",
        "id empty, `:`, `a:`, `:b`, `a:b:c`, 10 KB id, id with newline/NUL/RTL",
        "`invalid-tool-id`, hint names the part",
    ),
    Fault("A2", "`fs:read` and `fs:rеad` (Cyrillic е)", "second refused: ASCII only in names"),
    Fault("A3", "register twice: same hash / different hash", "idempotent / `duplicate-tool`"),
    Fault(
        "A4",
        "alias to itself; cycle of 3; chain of 1,000; alias shadowing a real tool",
        "refused at registration; depth cap; never a hang",
    ),
    Fault(
        "A5",
        "`@^1` with only pre-releases; `@1.2` ambiguous; invalid semver; build metadata ties",
        "documented choice, deterministic; `unknown-version` lists candidates",
    ),
    Fault(
        "A6",
        "unregister while resolving from 8 threads x 10,000",
        "no exception but `unknown-tool`; no stale hit after return",
    ),
    Fault(
        "A7",
        "query/search with empty, 100 KB, regex-like, control characters",
        "bounded time, deterministic order, no regex evaluation",
    ),
    Fault("A8", "hash8 collision (two definitions, same first 8 hex)", "full digest compared; `ambiguous-tool`"),
    Fault("A9", "same definitions registered in 100 random orders", "byte-identical export and listing"),
    Fault(
        "A10",
        "card from 1 MB description, from emoji/CJK text",
        "<= 80 tokens always; truncation on a character boundary",
    ),
    Fault("A11", "token vocabulary missing, network off", "works with offline counter; one warning"),
    Fault(
        "B1",
        "`$ref` to http, https, file, ftp, `//host`",
        "refused; **0 connections, 0 file reads** (observed by a listening socket)",
    ),
    Fault("B2", "`$ref` self-loop, mutual loop, missing pointer", "`invalid-schema`, no RecursionError"),
    Fault(
        "B3",
        "`pattern: ^(a+)+$` with 50 characters; look-around; 64 KB pattern",
        "< 50 ms or refused at registration",
    ),
    Fault("B4", "`anyOf` doubling 20 deep; 100,000 subschemas; depth 1,000", "`schema-too-complex` < 50 ms"),
    Fault("B5", "`uniqueItems` on 100,000 objects; `contains`; `minItems: 10**9`", "bounded or `arguments-too-large`"),
    Fault("B6", "arguments nested 10,000; 50 MB string; 10**6 keys", "refused before validation"),
    Fault(
        "B7",
        "integer of 5,000 digits, `1e999`, NaN, Infinity, `-0`, 2**53+1",
        "refused or exact; never silently changed",
    ),
    Fault("B8", "duplicate keys; lone surrogate; NUL in string; BOM; invalid UTF-8", "refused with position"),
    Fault("B9", "`multipleOf: 0.01` with infinity; `multipleOf: 0`", "`invalid-arguments`, not OverflowError"),
    Fault(
        "B10",
        'unknown property; wrong type that could be coerced (`"3"` for 3)',
        "refused (strict), hint with nearest name",
    ),
    Fault(
        "B11",
        "keywords a vendor cannot express (`oneOf`, `patternProperties`, `$dynamicRef`) per adapter",
        "exported with a lossy warning naming the path; output valid for the vendor",
    ),
    Fault("B12", "`__proto__`, `constructor`, `__class__` as property names", "plain data"),
    Fault("C1", "billion laughs; recursive alias; 1,000-deep flow; 10 MB file", "refused < 50 ms"),
    Fault(
        "C2",
        "`!!python/object`, custom tags, merge keys, duplicate keys, two documents, tabs",
        "refused with line and column",
    ),
    Fault(
        "C3",
        "`version: 1.10`, `enabled: no`, `port: 012`, dates",
        "typed model refuses wrong kinds; no silent coercion",
    ),
    Fault("C4", "unknown key, misspelt key, wrong `kind`", "all errors of the file reported at once"),
    Fault(
        "C5",
        "`$ref: ../../etc/passwd`, symlinked pack, pack directory replaced during load",
        "refused; reads only beneath the root",
    ),
    Fault(
        "C6",
        "template reading `__class__`, `config`, endless loops, `9**(9**9)`, `'a'*10**9`, undefined name",
        "refused at load or `template-error` < 100 ms",
    ),
    Fault(
        "C7",
        "argument `; rm -rf /`, `$(id)`, `` `id` ``, `--output=/etc/x`, `-rf`, newline, NUL",
        "passed as one argv element or refused; canary file untouched",
    ),
    Fault("C8", "argument into URL path/query/header: `../`, `#`, `?`, `%00`, CRLF", "encoded; CRLF refused"),
    Fault(
        "C9",
        "env block asks for `AWS_SECRET_ACCESS_KEY`, `LD_PRELOAD`, `PYTHONPATH`, `NODE_OPTIONS`",
        "only with a grant; loader variables never",
    ),
    Fault("C10", "pack edited after pinning", "`definition-drift`"),
    Fault(
        "D1",
        "never exits; ignores SIGTERM; stops itself (SIGSTOP)",
        "`deadline-exceeded` at T + grace; 0 survivors",
    ),
    Fault(
        "D2",
        "forks grandchildren; double-forks with setsid; keeps the pipe open",
        "all killed or reported as escaped; the call returns on time",
    ),
    Fault(
        "D3",
        "fork bomb; allocates 8 GB; spins; writes 10 GB; opens 10,000 files",
        "limit named in the error; host healthy",
    ),
    Fault(
        "D4",
        "prints 1 GB; prints without newline; 1 GB on stderr",
        "`output-too-large` with head kept; memory flat",
    ),
    Fault(
        "D5",
        "exits 0 with garbage; exits 1 with valid JSON; killed by signal; exit 127; not executable; missing "
        "interpreter",
        "distinct codes",
    ),
    Fault(
        "D6",
        "half a JSON document then exit; two documents; invalid UTF-8; ANSI; BOM",
        "`malformed-output` with excerpt",
    ),
    Fault("D7", "reads stdin forever; closes stdin early while we write 10 MB", "no deadlock, no EPIPE crash"),
    Fault("D8", "prints its environment", "only allowed names; canary secret absent"),
    Fault(
        "D9",
        "reads `/etc/shadow`, `~/.ssh`, writes outside cwd, connects out",
        "denied by active layers; report says which",
    ),
    Fault("D10", "200 concurrent calls with limit 8", "at most 8 alive; all 200 accounted for"),
    Fault("D11", "caller cancels at random times x 500", "0 orphans, 0 leaked descriptors"),
    Fault(
        "E1",
        "private, loopback, link-local, CGNAT, multicast, reserved, `0.0.0.0`, `[::]`",
        "`blocked-address`, 0 packets",
    ),
    Fault("E2", "decimal, hex, octal, short (`127.1`), mapped, NAT64, 6to4, Teredo, ISATAP, zone id", "same"),
    Fault(
        "E3",
        "metadata: 169.254.169.254, 168.63.129.16, 100.100.100.200, 192.0.0.192, fd00:ec2::254, "
        "metadata.google.internal",
        "blocked even with a local grant",
    ),
    Fault(
        "E4",
        "name with one public and one private answer; answer changes between check and connect",
        "blocked / the checked address is used",
    ),
    Fault(
        "E5",
        "redirect to private, to `file:`, https->http, 20 hops, loop, missing Location",
        "blocked; <= 5 hops; credentials dropped across origins",
    ),
    Fault("E6", "userinfo, backslash, tab, `%00`, Unicode digits, 64 KB URL, `gopher:`", "refused at parse"),
    Fault(
        "E7",
        "slow headers, 1 byte/s body, never-ending chunked, lying Content-Length",
        "deadline on the whole exchange",
    ),
    Fault("E8", "gzip bomb (10 GB from 10 MB), br, zstd, truncated gzip", "`output-too-large` / `malformed-output`"),
    Fault(
        "E9",
        "500/429 with Retry-After: 10**9; 200 with HTML; 204; invalid JSON",
        "bounded retry on idempotent only; honest error",
    ),
    Fault(
        "E10",
        "TLS: expired, wrong host, self-signed; `HTTP_PROXY`, `SSL_CERT_FILE` set in env",
        "refused; environment ignored unless granted",
    ),
    Fault(
        "F1",
        "does not start; dies in initialize; hangs in initialize; speaks another version",
        "others keep serving; `upstream-unavailable` with stderr tail",
    ),
    Fault(
        "F2",
        "crash in the middle of a call; crash x 5 in a row; exits cleanly",
        "call fails once, never silently re-run unless idempotent; restart with backoff; then circuit open",
    ),
    Fault(
        "F3",
        "hang in a call; slow 1 byte/s; reply after we gave up",
        "deadline; late reply dropped and counted; cancel sent",
    ),
    Fault(
        "F4",
        "log text, blank lines, invalid UTF-8 on stdout before the reply",
        "ignored and counted; call succeeds",
    ),
    Fault(
        "F5",
        "half a line then exit; 16 MB line; 200 MB without newline; 20,000 notifications",
        "`upstream-malformed`/`output-too-large`; time linear; memory capped",
    ),
    Fault(
        "F6",
        "wrong id, string id, duplicate reply, reply to unknown id, error and result both",
        "matched per spec or dropped; no cross-talk",
    ),
    Fault(
        "F7",
        "result of the wrong shape; structuredContent against outputSchema; nesting 5,000",
        "`upstream-malformed` at once (not a timeout)",
    ),
    Fault(
        "F8",
        "`tools/list`: 10,000 tools; cursor loop; duplicate names; null schema; one malformed tool",
        "capped pages; bad tool excluded with a warning, rest served",
    ),
    Fault(
        "F9",
        "two upstreams expose `search`; one exposes `tool_execute`",
        "prefixed, stable; reserved names refused",
    ),
    Fault(
        "F10",
        "description edited after approval; schema edited; annotation flipped; order shuffled",
        "drift for the first three; order change is not drift",
    ),
    Fault("F11", "`list_changed` storm 1,000/s", "coalesced; browse output stable between refreshes"),
    Fault(
        "F12",
        "hidden characters, `<IMPORTANT>`, poisoned parameter names, 1 MB description",
        "refused or flagged; card stays within budget",
    ),
    Fault("F13", "bad arguments to `tool_execute`", "rejected **before** upstream: upstream call count 0"),
    Fault(
        "F14",
        "disabled, unknown, over-ceiling tool through every path (direct, execute, compose, search)",
        "`not-permitted` on all paths",
    ),
    Fault(
        "F15",
        "500 concurrent clients, mixed good and bad upstreams",
        "0 swapped answers (nonce echo), p95 of good upstreams unaffected by the bad one",
    ),
    Fault(
        "F16",
        "client disconnects mid-call x 200; gateway SIGTERM under load",
        "upstream cancelled; drain then exit; 0 orphans",
    ),
    Fault("F17", "server-initiated sampling/elicitation/roots from an untrusted upstream", "refused unless granted"),
    Fault("F18", "secret-shaped text in arguments and results", "absent from logs, errors, cards, artifacts index"),
    Fault(
        "F19",
        "HTTP face: no token, wrong token, foreign Origin, wrong Host (DNS rebinding), 100 MB body",
        "401/403/413; no tool runs",
    ),
    Fault("F20", "inbound bearer token", "never forwarded upstream (token passthrough)"),
    Fault(
        "G1",
        "handle guessed, of another owner, expired, truncated, of deleted artifact",
        "one and the same `unknown-handle`; recovery hint",
    ),
    Fault(
        "G2",
        "paging token edited, replayed, used after a write, 10 KB long",
        "refused or consistent snapshot; never a skipped or doubled item",
    ),
    Fault("G3", "drill-down path `../`, `$..`, negative index, 10**9 index, huge slice", "bounded error"),
    Fault(
        "G4",
        "8 writers on one document with revisions",
        "800 of 800 kept; conflicts reported with current revision",
    ),
    Fault(
        "G5",
        "finalize twice; write after finalize; finalize with open checklist",
        "idempotent / refused / lists what is missing",
    ),
    Fault(
        "G6",
        "TTL passes during a read; clock jumps back an hour",
        "stale flag correct by monotonic time; no resurrection",
    ),
    Fault(
        "G7",
        "disk full; read-only directory; database locked 10 s; schema from a newer version",
        "clear error; nothing half-written; refuses to run on newer schema",
    ),
    Fault("G8", "kill -9 x 200 while writing", "acknowledged lost 0; `integrity_check` ok; strays swept"),
    Fault("G9", "truncated or bit-flipped database file and WAL", "detected at open; never served as truth"),
    Fault(
        "G10",
        "document containing prompt injection, 50 MB, binary, invalid UTF-8",
        "stored or refused by policy; returned as data with origin mark",
    ),
    Fault(
        "H1",
        "user B reads, lists, edits, runs, deletes A's instance (every method x every role)",
        'same answer as "not found"; 0 leaks',
    ),
    Fault(
        "H2",
        "ciphertext, salt, nonce or tag altered; swapped between rows; moved to another owner",
        "`unsealing-failed`; never another's key",
    ),
    Fault(
        "H3",
        "wrong master key; missing; too short; placeholder value",
        "refuses to start with one clear sentence; wrong key is distinct from corruption",
    ),
    Fault("H4", "rotation killed at every step", "every row readable by old or new key; resumes"),
    Fault(
        "H5",
        "repr, str, model_dump, traceback, log, snapshot, core error of anything holding a key",
        "canary found 0 times (grep of everything the suite wrote)",
    ),
    Fault(
        "H6",
        "app switch off while a call runs; instance disabled twice at once",
        "running call finishes or is cancelled as documented; next refused",
    ),
    Fault("H7", "two enables, two creates with one slug at once x 200", "exactly one wins"),
    Fault("H8", "SQL metacharacters, 1 MB names, Unicode-equal slugs", "parameterised; normalised; limit"),
    Fault("H9", "backup/restore and migration from every earlier schema version", "data equal, keys readable"),
    Fault(
        "I1",
        "handler raises, returns wrong type, returns unserialisable, raises `SystemExit`/`KeyboardInterrupt`, "
        "`BaseExceptionGroup`",
        "structured error; loop alive",
    ),
    Fault("I2", "handler blocks the event loop 5 s", "detected and named; other calls proceed when run in a worker"),
    Fault("I3", "handler swallows cancellation", "abandoned after grace, counted"),
    Fault(
        "I4",
        "retries: always fails, fails twice, not idempotent, deadline shorter than backoff",
        "bounded attempts; none past the deadline; non-idempotent once",
    ),
    Fault("I5", "budget spent from 100 concurrent calls", "never overspent by more than the in-flight bound"),
    Fault(
        "I6",
        "`parallel` with one failure, one hang; nested 50 deep; pipe with type mismatch",
        "documented join policy; no orphan task",
    ),
    Fault("I7", "clock jumps, DST, suspended process", "monotonic deadlines"),
    Fault("I8", "lazy load fails, half-initialises, is raced by 50 callers", "one load; failure not cached for ever"),
    Fault(
        "J1",
        "sibling version mismatch; missing `py.typed`; undeclared dependency",
        "architecture tests fail (uv itself does not notice)",
    ),
    Fault("J2", "import cycle or forbidden import added", "`lint-imports` fails"),
    Fault("J3", "public name removed or signature changed", "API snapshot test fails"),
    Fault("J4", "wheel installed alone on 3.11-3.14, lowest and newest dependencies", "import + smoke pass"),
    Fault("J5", "known-vulnerable dependency", "audit job fails with a dated exception list"),
    Fault(
        "K1",
        "enum of 249 and of 18,000 values × 490 KB of wrong arguments, call denied or allowed",
        "refused in ≤ 250 ms and ≤ 64 MB; others' p99 unaffected",
    ),
    Fault(
        "K2",
        "nested bounded repetition, 10 MB regex programs, numeric enums × 99,000 items, deep `anyOf`",
        "refused at registration or bounded per validation",
    ),
    Fault(
        "K3",
        "chunked trailers, pipelined heads behind a stream, header floods, with and without token",
        "connection closed; ≤ 8 MB growth",
    ),
    Fault(
        "K4",
        (
            "every route and method, by reflection: management API, resources, prompts, completions, tasks, vendor and "
            "misspelt methods"
        ),
        "on the pipeline (policy, limit, budget, audit, redaction) or refused",
    ),
    Fault(
        "K5",
        "toolset settings changed to another host, header or type by user, limited token, database writer",
        "key asked for again; a changed row does not decrypt",
    ),
    Fault(
        "K6",
        "transparent mode: arguments that are a list, text, number; extra members of `params`",
        "refused; an approval covers all params",
    ),
    Fault(
        "K7",
        "audit tail cut, newest segment and head removed, head replaced by a `prevSig`, whole database rolled back",
        "`verify` names each (rollback: with an anchor)",
    ),
    Fault(
        "K8",
        "state folder, database, key, audit key, configuration: foreign owner, group-writable, link",
        "not served",
    ),
    Fault(
        "K9",
        "context pack of another principal: list, read, write, delete, reference, page token",
        "not found",
    ),
    Fault(
        "K10",
        "`_meta`, instructions, prompts, resource descriptions changed after pinning",
        "withheld or flagged as tools are",
    ),
    Fault(
        "K11",
        "configured secret in resources, prompts, completions, descriptions, instructions, logs, cached catalogue",
        "redacted",
    ),
    Fault(
        "K12",
        (
            "one principal opens every session, connection, stream, artifact, approval; wrong tokens at full speed; "
            "bodies before authentication"
        ),
        "own quota only; others served at ≥ 80 %",
    ),
    Fault(
        "K13",
        "pack: scheduling, SysV IPC, namespaces, clock, host names, `/proc/self/net`, `mountinfo`",
        "refused or private",
    ),
    Fault(
        "K14",
        "pack environment without grants: any variable of the gateway",
        "absent",
    ),
    Fault(
        "K15",
        "`init` on secrets in `-e NAME=…`, glued flags, `-p`/`-k`, URL paths, headers",
        "none in clear",
    ),
    Fault(
        "K16",
        "denial, then an older acceptance; acceptance, then a denial; both at once",
        "the denial holds",
    ),
    Fault(
        "K17",
        "http pack redirected to another host or scheme (301–308)",
        "refused; body not sent",
    ),
    Fault(
        "K18",
        "one result of 10,000 parts; huge result `_meta`",
        "bounded per result; others' results still stored",
    ),
    Fault(
        "K19",
        "duplicate JSON keys, token or host in a trailer, lone surrogates at the HTTP door",
        "refused",
    ),
    Fault(
        "K20",
        "tool renamed and edited at once; two tools swap names",
        "withheld",
    ),
    Fault(
        "K21",
        "weak JWT keys at the lowest allowed versions of dependencies",
        "refused",
    ),
    Fault(
        "K22",
        "look-alike letters of all scripts in names; hidden characters in every text a model reads",
        "refused or flagged",
    ),
    Fault(
        "K23",
        "audit cannot be written (disk full, permission, sink down)",
        "calls refused (setting), nothing lost, said loudly",
    ),
)
