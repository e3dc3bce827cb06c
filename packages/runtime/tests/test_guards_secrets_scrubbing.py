"""Secrets in text and JSON: what is taken out, and what is left alone."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runtime.guards.secrets.scrubbing import MAX_DEPTH, Scrubber
from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret
from toolcrib_runtime.guards.secrets.spellings import MIN_SECRET_LENGTH

CANARY = 'canary/+ "ü"\\' + "4f9a1c07"


def token(*parts: str) -> str:
    """A text in the shape of a token; no such text stands in the source, where scanners would find it."""
    return "".join(parts)


BODY = "a1B2c3D4e5F6g7H8i9J0" * 2
TOKENS = {
    "openai": token("sk-", BODY),
    "openai project": token("sk-", "proj-", BODY),
    "anthropic": token("sk-", "ant-api03-", BODY),
    "stripe": token("sk", "_live_", BODY),
    "github": token("gh", "p_", BODY),
    "github oauth": token("gh", "o_", BODY),
    "github fine": token("github", "_pat_", BODY),
    "gitlab": token("glpat", "-", BODY),
    "slack": token("xox", "b-", "123456789012-", BODY),
    "aws": token("AKIA", "IOSFODNN7EXAMPLE"),
    "google": token("AIza", BODY),
    "hugging face": token("hf", "_", BODY),
    "npm": token("npm", "_", BODY),
    "pypi": token("pypi", "-", BODY),
    "jwt": token("eyJ", "hbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxIn0", ".", BODY),
}
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "repr": repr,
    "json": json.dumps,
    "json in unicode": lambda text: json.dumps(text, ensure_ascii=False),
    "url": lambda text: quote(text, safe=""),
    "url path": quote,
    "form": quote_plus,
    "query": lambda text: urlencode({"q": text}),
    "url in lower case": lambda text: re.sub("%..", lambda escape: escape[0].lower(), quote(text)),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


@pytest.mark.fault("F18")
@pytest.mark.parametrize("spelling", list(SPELLINGS))
def test_a_known_secret_is_found_in_its_usual_spellings(spelling: str) -> None:
    spelt = SPELLINGS[spelling](CANARY)

    scrubbed = Scrubber([Secret(CANARY)]).scrub_text(f"before {spelt} after")

    assert REDACTED in scrubbed
    assert "4f9a1c07" not in scrubbed
    assert spelt not in scrubbed
    assert (scrubbed[:7], scrubbed[-6:]) == ("before ", " after")


@pytest.mark.fault("F18")
@given(st.text(max_size=8), st.binary(min_size=MIN_SECRET_LENGTH, max_size=20), st.text(max_size=8))
def test_a_secret_inside_longer_base64_is_found(before: str, data: bytes, after: str) -> None:
    secret = data.hex()
    encoded = base64.b64encode(f"{before}:{secret}:{after}".encode(errors="replace")).decode()

    scrubbed = Scrubber([Secret(secret)]).scrub_text(encoded)

    assert REDACTED in scrubbed
    assert len(scrubbed.replace(REDACTED, "")) <= len(encoded) - len(secret)


def test_short_secrets_do_not_turn_every_text_into_bullets() -> None:
    scrubber = Scrubber([Secret("a"), Secret("admin"), Secret("admin1")])

    assert scrubber.scrub_text("an admin and admin1") == f"an admin and {REDACTED}"


def test_of_two_secrets_the_one_that_holds_the_other_goes_as_a_whole() -> None:
    scrubber = Scrubber([Secret("alphabet"), Secret("alphabet-soup")])

    assert scrubber.scrub_text("alphabet-soup, alphabet") == f"{REDACTED}, {REDACTED}"


def test_a_secret_may_be_added_later() -> None:
    scrubber = Scrubber()

    scrubber.add(Secret("learnt-later"))

    assert scrubber.scrub_text("learnt-later") == REDACTED


@pytest.mark.fault("H5")
def test_a_scrubber_does_not_show_what_it_searches_for() -> None:
    scrubber = Scrubber([Secret("canary-1")])

    assert "canary-1" not in f"{scrubber!r} {vars(scrubber)}"


@pytest.mark.fault("F18")
@pytest.mark.parametrize("kind", list(TOKENS))
@pytest.mark.parametrize(
    "frame", ["{}", "key {}.", "'{}'", '{{"k":"{}"}}', "x%20{}%20y", "a\\n{}\\n", "https://h/?a={}&b=1"]
)
def test_what_looks_like_a_token_is_taken_out_wherever_it_stands(kind: str, frame: str) -> None:
    scrubbed = Scrubber().scrub_text(frame.format(TOKENS[kind]))

    assert scrubbed.startswith(frame.format("|").split("|")[0])
    assert REDACTED in scrubbed
    assert TOKENS[kind][-12:] not in scrubbed


@pytest.mark.fault("F18")
@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("Authorization: Bearer hunter2", "Authorization: ••••"),
        ("authorization: Basic dTpw\r\nHost: h", "authorization: ••••\r\nHost: h"),
        ("{'Authorization': 'Bearer hunter2', 'A': 'b'}", "{'Authorization': '••••', 'A': 'b'}"),
        (r"{\"Authorization\": \"Bearer hunter2\"}", r"{\"Authorization\": \"••••\"}"),
        ('curl -H "X-Api-Key: hunter2" h', 'curl -H "X-Api-Key: ••••" h'),
        ("Set-Cookie: session=hunter2; Path=/", "Set-Cookie: ••••"),
        ("sent Bearer abc123def456 to h", "sent Bearer •••• to h"),
        ("postgres://user:hunter2@db:5432/x", "postgres://user:••••@db:5432/x"),
        ("redis://:hunter2@db", "redis://:••••@db"),
        ("https://h/?password=hunter2&page=2", "https://h/?password=••••&page=2"),
        ("https://h/?X-Amz-Signature=hunter2&a=1", "https://h/?X-Amz-Signature=••••&a=1"),
        ("https://h/?token=hunter2", "https://h/?token=••••"),
        ("DB_PASSWORD = hunter2", "DB_PASSWORD = ••••"),
        ("password='it is \"hunter2\"' user='u'", "password='••••' user='u'"),
        ('{"client_secret": "it\'s\\" hunter2", "a": "b"}', '{"client_secret": "••••", "a": "b"}'),
        (r"{\"apiKey\":\"hunter2\",\"a\":\"b\"}", r"{\"apiKey\":\"••••\",\"a\":\"b\"}"),
        ('"access_token": "cut off hunter2', '"access_token": "••••'),
    ],
)
def test_a_secret_is_known_by_the_name_before_it(text: str, scrubbed: str) -> None:
    assert Scrubber().scrub_text(text) == scrubbed


@pytest.mark.fault("F18")
@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n"])
def test_a_private_key_is_taken_out_even_when_it_is_cut_off(kind: str, line_end: str) -> None:
    begin, end = (token("-----", word, " ", kind, "PRIVATE", " KEY-----") for word in ("BEGIN", "END"))
    key = line_end.join([begin, "Proc-Type: 4,ENCRYPTED", BODY, BODY, end])

    assert Scrubber().scrub_text(f"a {key} z") == f"a {REDACTED} z"
    assert BODY not in Scrubber().scrub_text(f"a {key[: -len(end)]}")


@pytest.mark.parametrize(
    "text",
    [
        "a task-management-system and the sk-circle-fade-dot-animation",
        "bearer authentication is required",
        "Unexpected token: '}' at 3",
        'the "max_tokens": 5 and nextPageToken=abc',
        "password must be at least 8 characters",
        "see https://example.com/a:b/c@d and mailto:a@b",
        "if password == other: pass",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "ASIAN AKIA eyJ ghp_ xoxb- AIza sk-",
    ],
)
def test_plain_text_is_left_as_it_is(text: str) -> None:
    assert Scrubber(hide_paths=True).scrub_text(text) == text


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ('File "/srv/jane doe/app/x.py", line 3', 'File "…/x.py", line 3'),
        ("no such file: /srv/data/a.txt", "no such file: …/a.txt"),
        ("(/srv/data/)", "(…/)"),
        ("at file:///srv/data/a.txt now", "at file://…/a.txt now"),
        ("https://example.com/a/b.py and a/b/c.py and ./a/b", "https://example.com/a/b.py and a/b/c.py and ./a/b"),
        ("1 / 2 and /help", "1 / 2 and /help"),
    ],
)
def test_absolute_paths_lose_their_directories_when_asked_for(text: str, scrubbed: str) -> None:
    assert Scrubber(hide_paths=True).scrub_text(text) == scrubbed
    assert Scrubber().scrub_text(text) == text


PIECES = [*"aA1/:=\"'\\ \n-.@", "password", "Bearer ", "sk-", "eyJ", "canary-1", "://"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    scrubber = Scrubber([Secret("canary-1")], hide_paths=True)
    once = scrubber.scrub_text(text)

    assert "canary-1" not in once
    assert scrubber.scrub_text(once) == once


HOSTILE = [
    "eyJ",
    "-eyJ",
    "eyJaaaaaaaaa.",
    "sk-",
    "-sk-a",
    "://",
    "://a:",
    "password=",
    'secret":',
    "bearer a",
    "x-api-key",
]
HOSTILE += [
    "authorization: ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN RSA ",
    "ghp_",
    '"/',
    "/a",
    "'/a/",
    "file://",
    "\\",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_made_to_be_slow_takes_no_longer_than_its_length_allows(unit: str) -> None:
    scrubber = Scrubber([Secret("aaaaaaaaaaaaaab")], hide_paths=True)
    text = unit * (1_000_000 // len(unit))

    start = time.process_time()
    scrubber.scrub_text(text)

    # Measured at 0.7 s for the worst; a quadratic pattern takes minutes.
    assert time.process_time() - start < 5


def test_json_is_scrubbed_in_its_texts_and_keys_and_by_its_names() -> None:
    value = {
        "list": [CANARY, 1, 2.5, True, None, {"deep": f"is {CANARY}"}],
        CANARY: "under the secret",
        "Authorization": "anything",
        "userPassword": "anything",
        "tokens": 5,
        "nextPageToken": "kept",
    }

    assert Scrubber([Secret(CANARY)]).scrub(value) == {
        "list": [REDACTED, 1, 2.5, True, None, {"deep": f"is {REDACTED}"}],
        REDACTED: "under the secret",
        "Authorization": REDACTED,
        "userPassword": REDACTED,
        "tokens": 5,
        "nextPageToken": "kept",
    }


def test_keys_that_become_the_same_are_all_kept() -> None:
    scrubber = Scrubber([Secret("first-one"), Secret("second-one")])

    assert scrubber.scrub({"first-one": 1, "second-one": 2}) == {REDACTED: 1, f"{REDACTED} (1)": 2}


def test_what_is_nested_too_deep_is_replaced_as_a_whole() -> None:
    value: Any = CANARY
    for _ in range(100_000):
        value = [value]

    scrubbed: Any = Scrubber().scrub(value)

    for _ in range(MAX_DEPTH):
        (scrubbed,) = scrubbed
    assert scrubbed == REDACTED


def test_an_object_that_holds_itself_comes_to_an_end() -> None:
    value: list[object] = ["canary-1"]
    value += [value, value]

    scrubbed = Scrubber([Secret("canary-1")]).scrub(value)

    assert "canary-1" not in json.dumps(scrubbed)


def test_what_is_not_json_becomes_its_scrubbed_repr() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError(CANARY)

    scrubber = Scrubber([Secret("canary-bytes")])

    assert scrubber.scrub([Secret(CANARY), b"canary-bytes", Hostile(), {7: (1,)}]) == [
        "Secret(••••)",
        f"b'{REDACTED}'",
        "a value of type `Hostile`",
        {"7": [1]},
    ]
