"""What the code of a tool raised, as an error that a model can act on."""

from __future__ import annotations

import logging
import socket
from typing import Any

import httpx2 as httpx
import pytest
from pydantic import BaseModel
from small_toolboxes import as_tool, called, error_of

from toolcrib_core import ToolError, ToolErrorCategory, define_tool
from toolcrib_runtime import DeadlineExceeded, FetchFailed, RetryPolicy
from toolcrib_runtime.failures import failure_of, internal_failure, unknown_outcome
from toolcrib_runtime.guards.secrets import Scrubber, Secret
from toolcrib_runtime.testing import fake_tool

_DEFINITION = define_tool({"type": "object"}, name="get", namespace="web", description="Get.")


class Model(BaseModel):
    number: int


class Busy(ToolError):
    default_code = "tool.web.get.busy"
    default_category = ToolErrorCategory.TRANSIENT


def failure(raised: BaseException) -> Any:
    return failure_of(raised, _DEFINITION, Scrubber(hide_paths=True))


@pytest.mark.req("RT-3")
@pytest.mark.parametrize(
    ("raised", "code", "category", "leaves_open"),
    [
        (ValueError("x"), "failed", "internal", False),
        (TimeoutError(), "timed-out", "timeout", True),
        (ConnectionResetError(), "connection-lost", "transient", True),
        (BrokenPipeError(), "connection-lost", "transient", True),
        (EOFError(), "connection-lost", "transient", True),
        (ConnectionRefusedError(), "unreachable", "transient", False),
        (socket.gaierror(), "unreachable", "transient", False),
        (PermissionError(), "not-permitted", "permission", False),
        (FileNotFoundError(), "not-found", "not_found", False),
        (httpx.ReadTimeout("x"), "timed-out", "timeout", True),
        (httpx.ConnectTimeout("x"), "unreachable", "transient", False),
        (httpx.ConnectError("x"), "unreachable", "transient", False),
        (httpx.ReadError("x"), "connection-lost", "transient", True),
        (httpx.TooManyRedirects("x"), "failed", "internal", False),
        (SystemExit(1), "tried-to-exit", "internal", False),
    ],
)
def test_an_exception_is_judged_by_its_class(
    raised: BaseException, code: str, category: str, *, leaves_open: bool
) -> None:
    judged = failure(raised)

    assert (judged.error.code, judged.error.category) == (f"tool.web.get.{code}", category)
    assert judged.leaves_open is leaves_open
    assert judged.error.details["exception"] == type(raised).__name__


@pytest.mark.req("RT-3")
@pytest.mark.parametrize("text", ["timeout", "TIMEOUT: rate limit", "connection reset, cancelled, not found"])
def test_what_an_exception_says_never_decides_what_it_is(text: str) -> None:
    assert failure(RuntimeError(text)).error.category == "internal"


@pytest.mark.fault("H5")
def test_a_message_has_no_secrets_paths_or_lines_and_is_bounded() -> None:
    token = "ghp_" + "a1B2" * 9
    raised = RuntimeError(f"GET failed\nwith {token}\nin /srv/app/secret_dir/client.py " + "x" * 5_000)

    message = failure(raised).error.message

    assert message.startswith("`web:get")
    assert not any(each in message for each in (token, "/srv", "secret_dir", "\n"))
    assert len(message) < 700


@pytest.mark.fault("H5")
async def test_the_secrets_that_a_toolbox_knows_are_taken_out_too() -> None:
    scrubber = Scrubber([Secret("correct horse")], hide_paths=True)

    result = await called(fake_tool("get", raises=ValueError("password is correct horse")), scrubber=scrubber)

    assert "correct horse" not in str(result.to_dict())


@pytest.mark.req("RT-3")
async def test_an_error_that_the_tool_words_itself_is_taken_at_its_word() -> None:
    raised = Busy("Come back later.", hint="Wait a minute.", details={"retryAfter": 60}, retryable=True)

    result = await called(fake_tool("get", raises=raised))

    assert result.error is raised
    assert error_of(result) == ("tool.web.get.busy", "transient")


def test_of_the_errors_of_our_own_those_that_lost_the_answer_leave_the_outcome_open() -> None:
    assert failure(DeadlineExceeded("x")).leaves_open
    assert failure(FetchFailed("x")).leaves_open
    assert not failure(FetchFailed("x", details={"sent": False})).leaves_open
    assert not failure(Busy("x")).leaves_open


def test_a_group_says_what_is_in_it() -> None:
    group = ExceptionGroup("several", [ValueError("a"), TypeError("b")])

    assert failure(group).error.details == {
        "exception": "ExceptionGroup",
        "exceptions": ["ValueError", "TypeError"],
        "number": "2 exceptions",
    }


def test_an_open_outcome_says_what_to_look_for_and_is_never_tried_again() -> None:
    error = unknown_outcome(DeadlineExceeded("Too slow."), _DEFINITION)

    assert (error.code, error.category, error.retryable) == ("toolbox.unknown-outcome", "unknown_outcome", False)
    assert error.details["cause"]["code"] == "toolbox.deadline-exceeded"
    assert "before you call it again" in str(error)


def test_a_failure_around_the_tool_is_logged_with_the_id_that_the_error_names(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="toolcrib.runtime"):
        error = internal_failure(KeyError("boom"), _DEFINITION, call_id="call_7", where="a middleware")

    assert error.message.startswith("A middleware failed while `web:get")
    assert ("call_7" in str(error), "boom" in str(error)) == (True, False)
    assert "call_7" in caplog.text
    assert "boom" in caplog.text


@pytest.mark.req("RT-11", "D1-5l")
async def test_a_validation_error_inside_a_tool_is_the_tools_failure_and_no_fault_of_the_arguments() -> None:
    async def parse() -> None:
        Model.model_validate({"number": "many"})

    result = await called(parse)

    assert error_of(result) == ("tool.default.parse.failed", "internal")


@pytest.mark.req("RT-7")
@pytest.mark.parametrize(
    ("raised", "category"),
    [(ConnectionResetError, "unknown_outcome"), (ConnectionRefusedError, "transient"), (ValueError, "internal")],
)
async def test_a_lost_answer_of_a_tool_that_must_not_run_twice_is_an_open_question(
    raised: type[Exception], category: str
) -> None:
    tool = fake_tool("pay", raises=raised, effects="write", retries=RetryPolicy(first_delay=0))

    result = await called(tool)

    assert (error_of(result)[1], len(tool.calls)) == (category, 1)


async def test_the_cause_of_an_error_is_chained_for_whoever_debugs() -> None:
    raised = ValueError("why")

    result = await called(as_tool(fake_tool("get", raises=raised)))

    assert result.error is not None
    assert result.error.__cause__ is raised
