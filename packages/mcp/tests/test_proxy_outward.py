from __future__ import annotations

import orjson
import pytest

import toolcrib_core.errors as core_errors
import toolcrib_mcp.errors as mcp_errors
import toolcrib_runtime.errors as runtime_errors
from toolcrib_core import (
    InvalidArguments,
    InvalidOutput,
    ToolError,
    ToolErrorCategory,
    UnknownTool,
    create_tool_error,
    parse_path,
    validate_arguments,
    validate_value,
)
from toolcrib_mcp.errors import GatewayError, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.outward import MAX_TOLD_VIOLATIONS, OUTWARD_CODES, outward, outward_code

SPECIFIED = (
    "ARGS_INVALID PATH_INVALID PATH_NOT_FOUND HYDRATE_FAILED VIEW_FAILED TOOL_NOT_FOUND TOOL_CHANGED POLICY_DENIED "
    "APPROVAL_REQUIRED AUTH_REQUIRED AUTH_FAILED RATE_LIMITED BUDGET_EXCEEDED UPSTREAM_ERROR UPSTREAM_TIMEOUT "
    "UPSTREAM_UNAVAILABLE RESULT_TOO_LARGE OUTCOME_UNKNOWN"
).split()
EXPECTED = {
    "InvalidArguments": "ARGS_INVALID",
    "ArgumentsTooLarge": "ARGS_INVALID",
    "MalformedJson": "ARGS_INVALID",
    "QueryError": "ARGS_INVALID",
    "PathInvalid": "PATH_INVALID",
    "PathNotFound": "PATH_NOT_FOUND",
    "UnknownTool": "TOOL_NOT_FOUND",
    "DeprecatedTool": "TOOL_NOT_FOUND",
    "InvalidToolId": "TOOL_NOT_FOUND",
    "DuplicateTool": "HYDRATE_FAILED",
    "InvalidSchema": "HYDRATE_FAILED",
    "VocabularyError": "INTERNAL_ERROR",
    "ToolError": "INTERNAL_ERROR",
    "DeadlineExceeded": "UPSTREAM_TIMEOUT",
    "UnknownOutcome": "OUTCOME_UNKNOWN",
    "ToolFailed": "UPSTREAM_ERROR",
    "UnusableOutput": "UPSTREAM_ERROR",
    "OutputTooLarge": "RESULT_TOO_LARGE",
    "WorkerLost": "UPSTREAM_UNAVAILABLE",
    "BudgetExhausted": "BUDGET_EXCEEDED",
    "LoopDetected": "BUDGET_EXCEEDED",
    "IdempotencyConflict": "ARGS_INVALID",
    "NotPermitted": "POLICY_DENIED",
    "ApprovalRequired": "APPROVAL_REQUIRED",
    "BlockedAddress": "POLICY_DENIED",
    "FileUnusable": "UPSTREAM_ERROR",
    "ConfigError": "CONFIG_INVALID",
    "UpstreamTimeout": "UPSTREAM_TIMEOUT",
    "UpstreamUnavailable": "UPSTREAM_UNAVAILABLE",
    "UpstreamMalformed": "UPSTREAM_ERROR",
    "ResultTooLarge": "RESULT_TOO_LARGE",
    "AuthRequired": "AUTH_REQUIRED",
    "AuthFailed": "AUTH_FAILED",
    "UpstreamBusy": "RATE_LIMITED",
}


def _classes() -> dict[str, type[ToolError]]:
    modules = (core_errors, runtime_errors, mcp_errors)
    found = (value for module in modules for value in vars(module).values())
    return {each.__name__: each for each in found if isinstance(each, type) and issubclass(each, ToolError)}


def _made(kind: type[ToolError]) -> ToolError:
    """An error of the class, whatever its constructor wants."""
    error = kind.__new__(kind)
    ToolError.__init__(error, "It went wrong.")
    return error


@pytest.mark.req("GW-6.8")
def test_every_specified_code_is_one_that_travels():
    assert set(SPECIFIED) <= OUTWARD_CODES


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("name", sorted(_classes()))
def test_every_error_of_every_package_travels_under_a_known_code_and_says_whether_to_retry(name):
    told = outward(_made(_classes()[name]))

    assert told["error"] in OUTWARD_CODES
    assert isinstance(told["retryable"], bool)


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize(("name", "code"), EXPECTED.items())
def test_an_error_keeps_its_meaning_under_its_code(name, code):
    assert outward_code(_made(_classes()[name])) == code


@pytest.mark.req("GW-9.3")
def test_a_gateway_error_made_with_a_code_as_the_source_document_does_travels_under_it():
    error = GatewayError("It cannot be shown.", code="HYDRATE_FAILED")

    assert error.code == "HYDRATE_FAILED"
    assert outward(error) == {"error": "HYDRATE_FAILED", "message": "It cannot be shown.", "retryable": False}


def test_a_tools_own_error_goes_by_its_category():
    own = create_tool_error("tool.weather.forecast.no-such-city", "No such city.", category="not_found")
    slow = create_tool_error("tool.weather.forecast.slow", "Slow.", category="timeout")

    assert outward_code(own) == "UPSTREAM_ERROR"
    assert outward_code(slow) == "UPSTREAM_TIMEOUT"
    assert outward(slow)["retryable"] is True


@pytest.mark.req("CT-26")
@pytest.mark.parametrize(
    ("category", "kind", "reason", "code"),
    [
        (ToolErrorCategory.NOT_FOUND, "not_found", "not_found", "NOT_FOUND"),
        (ToolErrorCategory.CONFLICT, "conflict", "revision_conflict", "CONFLICT"),
        (ToolErrorCategory.VALIDATION, "validation", "invalid_data", "ARGS_INVALID"),
        (ToolErrorCategory.UNAVAILABLE, "io_error", "io_error", "UPSTREAM_UNAVAILABLE"),
    ],
    ids=["not-found", "conflict", "validation", "unavailable"],
)
def test_an_error_whose_contract_has_codes_keeps_them_and_is_no_failure_of_a_server(category, kind, reason, code):
    contract = {"kind": kind, "code": reason, "request_id": "req_1"}
    error = ToolError("No.", code="toolbox.other", category=category, details={"contract": contract, "id": "x"})

    told = outward(error)

    assert {name: told[name] for name in ("kind", "code", "request_id", "error")} == {**contract, "error": code}
    assert told["details"] == {"id": "x"}


def test_a_result_that_breaks_its_schema_is_the_servers_fault_not_the_callers():
    with pytest.raises(InvalidOutput) as caught:
        validate_value({"type": "object"}, 3, what="output")

    assert outward_code(caught.value) == "UPSTREAM_ERROR"


@pytest.mark.req("GW-6.8")
def test_a_path_stands_beside_the_details_and_the_hint_is_kept():
    with pytest.raises(ToolError) as caught:
        parse_path("/Git")

    told = outward(caught.value)

    assert told["error"] == "PATH_INVALID"
    assert told["path"] == "/Git"
    assert "path" not in told["details"]
    assert told["hint"] == caught.value.hint
    assert list(told) == ["error", "message", "hint", "path", "retryable", "details"]


def test_what_a_server_wrote_beside_the_protocol_stays_here():
    error = UpstreamUnavailable("Gone.", details={"stderr": "token=1", "excerpt": "x", "noise": {}, "sent": True})

    assert outward(error)["details"] == {"sent": True}
    assert error.details["stderr"] == "token=1"


def test_an_error_with_nothing_but_withheld_details_has_no_details():
    assert "details" not in outward(UpstreamTimeout("Slow.", details={"noise": {}}))


@pytest.mark.req("GW-4.4")
def test_of_very_many_violations_every_place_is_told():
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    with pytest.raises(InvalidArguments) as caught:
        validate_arguments(schema, {f"p{number:03}": "x" for number in range(120)})

    details = outward(caught.value)["details"]

    assert len(details["violations"]) == MAX_TOLD_VIOLATIONS
    places = [each["pointer"] for each in details["violations"]] + details["further"]
    assert sorted(places) == [f"/p{number:03}" for number in range(120)]
    assert len(caught.value.details["violations"]) == 120


def test_violations_of_another_shape_are_kept():
    error = ToolError("Odd.", details={"violations": [f"fault {number}" for number in range(60)]})

    assert outward(error)["details"]["further"] == [f"fault {number}" for number in range(50, 60)]


def test_what_travels_is_json_and_changing_it_changes_no_error():
    error = UnknownTool("None.", details={"near": ("a:b#00000000",)})

    told = outward(error)
    told["details"]["near"].append("more")

    assert orjson.loads(orjson.dumps(told)) == told
    assert error.details == {"near": ("a:b#00000000",)}


def test_every_category_has_a_code():
    for category in ToolErrorCategory:
        assert outward_code(ToolError("x", code="toolbox.other", category=category)) in OUTWARD_CODES


def test_what_the_contract_of_a_tool_promises_stands_beside_ours_and_takes_no_place_of_it():
    contract = {"kind": "conflict", "code": "revision_conflict", "message": "other"}
    error = create_tool_error("toolbox.x", "It changed.", category="conflict", details={"contract": contract, "a": 1})

    assert outward(error) == {
        "kind": "conflict",
        "code": "revision_conflict",
        "error": "CONFLICT",
        "message": "It changed.",
        "retryable": False,
        "details": {"a": 1},
    }
