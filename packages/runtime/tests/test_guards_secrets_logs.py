"""Secrets in exceptions, logs and errors: neither the reader nor the log sees them."""

from __future__ import annotations

import io
import json
import logging
import traceback
from collections.abc import Callable

import pytest

from toolcrib_runtime.errors import ToolFailed
from toolcrib_runtime.guards.secrets.logs import ScrubbingFilter
from toolcrib_runtime.guards.secrets.scrubbing import MAX_MESSAGE, Scrubber, scrub_exception
from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret

CANARY = 'canary/+ "ü"\\' + "4f9a1c07"
TOKEN = "sk-" + "a1B2c3D4e5F6g7H8i9J0"


@pytest.mark.fault("F18", "H5")
def test_an_exception_becomes_one_line_without_secrets_and_paths() -> None:
    failure = OSError(2, f"No\nsuch\x1b[31m file: {CANARY}", "/srv/jane/app/x.py")

    line = scrub_exception(failure, Scrubber([Secret(CANARY)]))

    assert line == f"FileNotFoundError: [Errno 2] No such [31m file: {REDACTED}: '…/x.py'"


def test_the_line_of_an_exception_is_bounded_whatever_it_says() -> None:
    line = scrub_exception(ValueError("x" * 50_000_000))

    assert len(line) == MAX_MESSAGE
    assert line.endswith("x…")


def test_an_exception_without_words_or_with_hostile_ones_is_named_by_its_type() -> None:
    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError(CANARY)

    assert scrub_exception(Hostile()) == "Hostile"
    assert scrub_exception(KeyError()) == "KeyError"


def test_without_a_scrubber_what_looks_like_a_secret_is_still_taken_out() -> None:
    assert scrub_exception(ValueError(f"bad {TOKEN}")) == f"ValueError: bad {REDACTED}"


def logged(log: Callable[[logging.Logger], None], *, style: str = "%(levelname)s %(message)s") -> str:
    """What a handler with the filter writes of what a logger below it is told."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(logging.Formatter(style, defaults={"extra": ""}))
    handler.addFilter(ScrubbingFilter(Scrubber([Secret(CANARY)])))
    above = logging.getLogger("test_guards_secrets_logs")
    above.propagate = False
    above.addHandler(handler)
    try:
        log(above.getChild("below"))
    finally:
        above.removeHandler(handler)
    return out.getvalue()


@pytest.mark.fault("F18", "H5")
def test_a_log_record_is_scrubbed_in_message_arguments_and_extra_attributes() -> None:
    written = logged(
        lambda logger: logger.warning("key %s in %r", CANARY, TOKEN, extra={"extra": {"a": CANARY}}),
        style="%(message)s %(extra)s",
    )

    assert written == f"key {REDACTED} in '{REDACTED}' {{'a': '{REDACTED}'}}\n"


@pytest.mark.fault("F18", "H5")
def test_a_logged_exception_is_scrubbed_with_its_causes_and_stack() -> None:
    def fail(logger: logging.Logger) -> None:
        failure = ToolFailed(f"failed with {CANARY}", details={"key": CANARY})
        failure.__cause__ = ValueError(CANARY)
        logger.error("it failed", exc_info=failure, stack_info=True)

    written = logged(fail)

    assert "4f9a1c07" not in written
    assert f"ValueError: {REDACTED}" in written
    assert "ToolFailed: failed with" in written
    assert "Stack (most recent call last)" in written


@pytest.mark.fault("H5")
def test_later_handlers_see_the_scrubbed_record_and_no_exception_object() -> None:
    record = logging.makeLogRecord({"msg": CANARY, "exc_info": (ValueError, ValueError(CANARY), None)})

    assert ScrubbingFilter(Scrubber([Secret(CANARY)])).filter(record)

    assert "4f9a1c07" not in str(vars(record))
    assert record.exc_info is None


def test_a_record_whose_arguments_do_not_fit_is_still_logged_without_them() -> None:
    record = logging.makeLogRecord({"msg": "%d of %d", "args": (CANARY,)})

    ScrubbingFilter(Scrubber()).filter(record)

    assert record.getMessage() == "%d of %d (its arguments do not fit)"


def test_a_record_that_was_formatted_before_is_scrubbed_too() -> None:
    record = logging.makeLogRecord({"msg": "m", "exc_text": f"Traceback: {CANARY}"})

    ScrubbingFilter(Scrubber([Secret(CANARY)])).filter(record)

    assert record.exc_text == f"Traceback: {REDACTED}"


@pytest.mark.fault("H5")
def test_the_details_of_an_error_are_scrubbed_as_json() -> None:
    error = ToolFailed("failed", details={"key": Secret(CANARY), "text": [CANARY]})

    scrubbed = Scrubber([Secret(CANARY)]).scrub(error.to_dict())

    assert "4f9a1c07" not in json.dumps(scrubbed, ensure_ascii=False)
    assert "4f9a1c07" not in "".join(traceback.format_exception(error))
