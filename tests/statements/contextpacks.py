"""The statements of document 002, context packs."""

from __future__ import annotations

from tests.statements.statement import Statement

_STORING = {
    "Tool contract": {
        "1a": "The id of a pack has the form `pk_[a-z2-7]{8}`.",
        "1b": "`input` has the actions `list`, `get`, `write`, `ttl` and `delete`, and no other.",
        "1c": "`write` takes the whole pack as `document`, and replaces all that was there.",
        "1d": "The legacy field `op` is rejected with guidance.",
        "1e": "Every legacy field that changed a part of a pack is rejected with guidance.",
        "1f": "An update needs `id` or `name`.",
        "1g": "An update needs `expected_revision`.",
        "1h": "A create has neither, and allocates a new id.",
        "1i": "`validate_only=true` runs the checks of the document.",
        "1j": "`validate_only=true` runs the checks of finalizing.",
        "1k": "`validate_only=true` persists nothing.",
        "1l": "`ttl` takes exactly one of `ttl_minutes` and `extend_minutes`.",
        "1m": "There are two tools, and `output` has the actions `list` and `read` alone.",
        "1n": "`input list` takes `freshness`: `fresh`, `expiring_soon` or `expired`.",
        "1o": "`output list` takes `freshness`, too.",
        "1p": "Another freshness is refused with those that are allowed.",
        "1q": "Lists hide expired packs unless `freshness=expired` asks for them.",
        "1r": "An expired pack can be read with `freshness=expired` until its grace period is over.",
        "1s": "The grace period is 900 seconds by default.",
        "1t": "`CONTEXT_PACK_EXPIRED_GRACE_SECONDS` sets the grace period.",
        "1u": "After its grace period a pack is unavailable.",
        "1v": "Lists have `freshness_state`, `expires_at` and `ttl_remaining`.",
        "1w": "`output list` warns of packs that are `expiring_soon` or `expired`.",
        "1x": "A name means a finalized pack before one that is not.",
        "1y": "Within a status, a name means the pack with the latest `updated_at`.",
        "1z": "Of packs with the same `updated_at`, a name means the one with the highest revision.",
        "1za": "Where these do not decide, the read fails with `ambiguous` and `details.candidate_ids`.",
    },
    "Error contract": {
        "2a": "What breaks the contract has `kind=validation`.",
        "2b": "It has `code=invalid_data`.",
        "2c": "`details` names what was requested: `requested_action` or `requested_field`.",
        "2d": "`details` names the `supported_field` that was probably meant.",
        "2e": "`details` has the `allowed_actions`.",
        "2f": "`details` has `allowed_ops` where an `op` was sent.",
        "2g": "`details` has the `required_fields`.",
        "2h": "`details` has what is `mutually_interchangeable`.",
        "2i": "The same request has the same `details`, whenever it is sent.",
        "2j": "`message` is a short sentence that says the same as `details`.",
        "2k": "A legacy action of `input` is answered with `action='write'`.",
        "2l": "A legacy action of `output` is answered with `use action='read'`.",
        "2m": "A legacy field is answered with `unsupported_field` and `supported_field`.",
        "2n": "`input delete` without a pack says that it needs `id` or `name`.",
        "2o": "`output read` without a pack says that it needs `id` or `name`.",
    },
    "Finalize checklist": {
        "3a": "A finalized pack has a section `scope`.",
        "3b": "`scope` has substance: a description, references or diagrams.",
        "3c": "A finalized pack has a section `findings`.",
        "3d": "`findings` has substance: a description, references or diagrams.",
        "3e": "A finalized pack has a section `qa` with a verdict, such as `verdict: pass`.",
        "3f": "Every reference of a finalized pack can be resolved.",
        "3g": "A pack that is not ready is refused with `finalize_validation`.",
        "3h": "`details.missing_sections` lists the sections that are missing.",
        "3i": "`details.missing_fields` lists the fields that are missing.",
        "3j": "`details.invalid_refs` has section, reference, path, line range and reason of each broken reference.",
        "3k": "A draft is not checked for any of this.",
        "3l": "A pack that is refused stays as it is.",
    },
    "#58": {
        "7.58a": "`{ action: list }` hides expired packs.",
        "7.58b": "`{ action: list, freshness: expired }` shows them.",
        "7.58c": "`get` and `list` have `freshness_state`, `expires_at` and `ttl_remaining`.",
    },
    "#59": {
        "7.59a": "A name is resolved by fixed rules: finalized, then the latest, then the highest revision.",
        "7.59b": "An ambiguous name fails with `code=ambiguous` and `details.candidate_ids`.",
    },
    "#60": {
        "7.60a": "Finalizing requires `scope`, `findings` and `qa.verdict`.",
        "7.60b": "References that are broken block finalizing.",
        "7.60c": "`details` has `missing_sections`, `missing_fields` and `invalid_refs`, all at once.",
    },
    "#62": {
        "7.62a": "`revision_conflict` has `expected_revision` and `current_revision`.",
        "7.62b": "`actual_revision` is an alias of `current_revision`.",
        "7.62c": "`revision_conflict` has `last_updated_at`.",
        "7.62d": "`revision_conflict` has `changed_section_keys`: those that really changed since then.",
        "7.62e": "`changed_section_keys` is bounded.",
        "7.62f": "`revision_conflict` has `guidance`.",
        "7.62g": "`get`, merge, and a retry with the fresh `expected_revision` resolve a conflict.",
    },
    "CI and coverage policy": {
        "8a": "All tests run in CI.",
        "8b": "Lints run in CI, and a warning fails.",
        "8c": "Coverage below the baseline fails, and the same or more passes.",
        "8d": "The value is the total line coverage of a report that a program reads.",
        "8e": "The baseline is above 0 and at most 100; every other value is refused.",
        "8f": "The baseline is `line_coverage_percent` in a file of the repository.",
        "8g": "One script runs the same gate locally.",
    },
}

_DEVIATIONS = {
    "8a": "CI runs `scripts/test`, with pytest: the project is in Python, and the document names cargo",
    "8b": "CI runs `scripts/test`, with ruff and mypy: the project is in Python, and the document names clippy",
    "8f": "the file is `coverage-baseline.json` at the root, so that it belongs to no one CI service",
    "8g": "the script is `scripts/coverage`, named like the others",
}

STATEMENTS: tuple[Statement, ...] = tuple(
    Statement(id=f"D2-{key}", section=section, text=text, deviation=_DEVIATIONS.get(key))
    for part in (_STORING,)
    for section, texts in part.items()
    for key, text in texts.items()
)
