"""What the names of variables, headers and options say of their values."""

from __future__ import annotations

import re
from typing import Final

_SECRET_WORDS: Final = frozenset(
    "auth authorization bearer cookie cookies credential credentials creds dsn jwt key keys licence license pass "
    "passphrase passwd password passwords pat private pw pwd salt secret secrets session sig signature token tokens "
    "webhook".split()
)
_SECRET_ENDINGS: Final = ("apikey", "secret", "token", "password", "passwd")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# One word that says how something is set, also where a name says that it is secret, as in `AUTH=required`.
_SETTING: Final = re.compile(
    r"(?:en|dis)abled|required|optional|default|production|development|staging|testing|localhost|anonymous|"
    r"oauth2?|bearer|basic|digest|kerberos|keyring|keychain|prompt|manual|system|undefined|unknown",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable, header or option says that its value is a secret."""
    return any(word in _SECRET_WORDS or word.endswith(_SECRET_ENDINGS) for word in words_of(name))


def is_setting(text: str) -> bool:
    """Whether a value is one word that says how something is set, as `required` is; no secret is one."""
    return _SETTING.fullmatch(text) is not None


def words_of(name: str) -> list[str]:
    """The words that a name is put together from, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]
