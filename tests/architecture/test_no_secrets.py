"""No file of the repository holds what looks like a secret; a test that needs one puts it together when it runs."""

from __future__ import annotations

import pytest

from checks.workspace import ROOT
from tests.repository_files import repository_files
from tests.secret_scan import suspicions_in

_RANDOM = "q7Rk2" + "XvB9d" + "Lw4Zt" + "M1nCy"
_FRAME = "-----{} RSA " + "PRIVATE" + " KEY-----"


def test_no_file_holds_what_looks_like_a_secret() -> None:
    found = {
        str(path.relative_to(ROOT)): suspicions
        for path in repository_files()
        if (suspicions := suspicions_in(path.read_text(encoding="utf-8", errors="ignore")))
    }

    assert found == {}


@pytest.mark.parametrize(
    ("planted", "what"),
    [
        ("gh" + "p_" + _RANDOM + _RANDOM, "a token of a known form"),
        ("AK" + "IA" + "QZ7RK2XVB9DLW4ZT", "a token of a known form"),
        ("xox" + "b-" + "123456789012-" + _RANDOM, "a token of a known form"),
        ("https://hooks.slack" + ".com/services/" + f"T0/B0/{_RANDOM}", "a token of a known form"),
        (_FRAME.format("BEGIN") + "\n" + _RANDOM + "\n" + _FRAME.format("END"), "a private key"),
        (f'db_password = "{_RANDOM}"', "a random value of `db_password`"),
        (f"export API_KEY={_RANDOM}", "a random value of `API_KEY`"),
        (f'"client_secret": "{_RANDOM}",', "a random value of `client_secret`"),
        (f"auth-token: {_RANDOM}", "a random value of `auth-token`"),
        ("SIGNING_KEY = bytes.fromhex('9f86d081" + "884c7d65')", "a random value of `SIGNING_KEY`"),
    ],
)
def test_a_planted_secret_is_found_on_its_line_and_not_repeated(planted: str, what: str) -> None:
    suspicions = suspicions_in(f"one line\n{planted}\nanother")

    assert (2, what) in suspicions
    assert _RANDOM not in str(suspicions)


@pytest.mark.parametrize(
    "text",
    [
        'token = "the-name-of-a-token"',
        "api_key = os.environ['SERVICE_API_KEY_2']",
        'password: "correct horse battery staple"',
        "max_tokens = 1_000_000_000_000_000",
        'revision = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"',
        "key = load_key_of_version_2_of(settings)",
        '{"publicKey": "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"}',
    ],
)
def test_words_about_secrets_are_none(text: str) -> None:
    assert suspicions_in(text) == []
