"""A wrapped secret: it comes out when it is asked for, and in no other way."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import to_json

from toolcrib_core import ToolError
from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret

CANARY = "canary" + "-" + "4f9a1c07"


class Login(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    user: str
    key: Secret


@dataclasses.dataclass(frozen=True, kw_only=True)
class Connection:
    key: Secret


def test_a_secret_gives_its_text_when_it_is_asked() -> None:
    assert Secret(CANARY).reveal() == CANARY


EVERY_WAY_OUT: dict[str, Callable[[Secret], object]] = {
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "f-string": lambda secret: f"{secret} {secret!s} {secret!r} {secret:>60}",
    "percent": lambda secret: "%s %r %10.3s" % (secret, secret, secret),  # noqa: UP031  # the way is the point
    "format": lambda secret: "{} {!r} {:s}".format(secret, secret, secret),  # noqa: UP032  # the way is the point
    "inside others": lambda secret: f"{[secret]} { {'key': (secret,)} } {Connection(key=secret)}",
    "pprint": lambda secret: pprint.pformat({"key": secret}),
    "dir": lambda secret: {name: getattr(secret, name) for name in dir(secret)},
    "members": inspect.getmembers,
    "asdict": lambda secret: dataclasses.asdict(Connection(key=secret)),
    "copies": lambda secret: [copy.copy(secret), copy.deepcopy({"key": secret})],
    "json with str": lambda secret: json.dumps({"key": secret}, default=str),
    "model": lambda secret: Login(user="u", key=secret),
    "model_dump": lambda secret: Login(user="u", key=secret).model_dump(),
    "model_dump json": lambda secret: Login(user="u", key=secret).model_dump(mode="json"),
    "model_dump_json": lambda secret: Login(user="u", key=secret).model_dump_json(),
    "model_copy": lambda secret: Login(user="u", key=secret).model_copy(update={"user": "v"}),
    "adapter": lambda secret: TypeAdapter(dict[str, Secret]).dump_json({"key": secret}),
    "error": lambda secret: ToolError("failed", details={"key": secret}).to_dict(),
    "state": lambda secret: getattr(secret, "__getstate__", dict)(),
    "hash": hash,
    "size": lambda secret: secret.__sizeof__(),
}


@pytest.mark.fault("H5")
@pytest.mark.parametrize("way", list(EVERY_WAY_OUT))
def test_the_canary_does_not_come_out_this_way(way: str) -> None:
    shown = EVERY_WAY_OUT[way](Secret(CANARY))

    assert CANARY not in f"{shown} {shown!r}"


@pytest.mark.fault("H5")
@pytest.mark.parametrize("dump", [pickle.dumps, json.dumps, orjson.dumps, to_json, vars])
def test_what_would_have_to_write_the_text_refuses_and_does_not_show_it(dump: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        dump(Secret(CANARY))

    assert CANARY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.fault("H5")
def test_a_traceback_with_local_variables_shows_bullets() -> None:
    secret = Secret(CANARY)
    holder = {"key": secret, "model": Login(user="u", key=secret)}

    with pytest.raises(ZeroDivisionError) as caught:
        len(holder) / 0

    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert CANARY not in shown
    assert "Secret(••••)" in shown


@pytest.mark.fault("H5")
def test_a_log_line_shows_bullets(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("test").warning("key %s and %r", Secret(CANARY), {"key": Secret(CANARY)})

    assert caplog.messages == ["key •••• and {'key': Secret(••••)}"]


def test_equal_texts_are_equal_secrets_and_never_equal_to_plain_text() -> None:
    assert Secret(CANARY) == Secret(CANARY)
    assert Secret(CANARY) != Secret("another")
    assert Secret(CANARY) != CANARY
    assert Secret("schlüssel") == Secret("schlüssel")


def test_the_hash_is_the_same_for_every_secret_and_sets_still_work() -> None:
    assert hash(Secret(CANARY)) == hash(Secret("another"))
    assert {Secret(CANARY), Secret(CANARY), Secret("another")} == {Secret("another"), Secret(CANARY)}


def test_a_secret_does_not_change() -> None:
    secret = Secret(CANARY)

    with pytest.raises(AttributeError):
        secret._ask = lambda: "other"
    with pytest.raises(AttributeError):
        del secret._ask
    assert secret.reveal() == CANARY


@pytest.mark.parametrize("text", ["", REDACTED, "a\ud800"], ids=["empty", "bullets", "surrogate"])
def test_what_can_be_no_secret_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a secret must be"):
        Secret(text)


@pytest.mark.parametrize("data", [{"user": "u", "key": CANARY}, {"user": "u", "key": Secret(CANARY)}])
def test_a_model_reads_a_secret_from_text_or_takes_it_as_it_is(data: dict[str, Any]) -> None:
    assert Login.model_validate(data).key.reveal() == CANARY


def test_a_model_reads_a_secret_from_json() -> None:
    assert Login.model_validate_json(json.dumps({"user": "u", "key": CANARY})).key.reveal() == CANARY


def test_a_dumped_model_is_not_read_back_with_bullets_for_a_key() -> None:
    dumped = Login(user="u", key=Secret(CANARY)).model_dump_json()

    assert json.loads(dumped) == {"user": "u", "key": REDACTED}
    with pytest.raises(ValidationError):
        Login.model_validate_json(dumped)


@pytest.mark.fault("H5")
@pytest.mark.parametrize(
    "data", [{"key": CANARY}, {"user": "u", "key": [CANARY]}, {"user": "u", "key": CANARY.encode()}]
)
def test_a_model_that_hides_its_input_does_not_show_a_key_in_its_errors(data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        Login.model_validate(data)

    assert CANARY not in str(caught.value)


def test_the_schema_of_a_secret_says_password() -> None:
    assert Login.model_json_schema()["properties"]["key"] == {
        "type": "string",
        "minLength": 1,
        "format": "password",
        "writeOnly": True,
        "title": "Key",
    }
