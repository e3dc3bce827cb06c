"""Made-up secrets of well-known formats."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from redaction_corpus.vendors import VENDORS

_LETTERS = string.ascii_letters + string.digits
_URL = _LETTERS + "_-"
_HEX = "0123456789abcdef"
_BASE64 = _LETTERS + "+/"


def _some(alphabet: str, count: int) -> Callable[[Random], str]:
    return lambda random: "".join(random.choices(alphabet, k=count))


def _joined(*parts: str | Callable[[Random], str]) -> Callable[[Random], str]:
    return lambda random: "".join(part if isinstance(part, str) else part(random) for part in parts)


def _with_digit(made: Callable[[Random], str]) -> Callable[[Random], str]:
    """Random text of this length has a digit in practice; the few that have none would say nothing of a pattern."""

    def make(random: Random) -> str:
        while True:
            text = made(random)
            if any(each.isdigit() for each in text):
                return text

    return make


def _jwt(random: Random) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")

    claims = {"sub": str(random.randrange(10**9)), "iat": 1_700_000_000 + random.randrange(10**7)}
    return ".".join([part({"alg": "HS256", "typ": "JWT"}), part(claims), _some(_URL, 43)(random)])


def _pem(kind: str) -> Callable[[Random], str]:
    def make(random: Random) -> str:
        lines = [_some(_BASE64, 64)(random) for _ in range(6)]
        begin, end = ("-----" + word + f" {kind}PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
        return "\n".join([begin, *lines, end])

    return make


FORMATS: Final[Mapping[str, Callable[[Random], str]]] = {
    "github": _joined("gh", "p_", _some(_LETTERS, 36)),
    "github app": _joined("gh", "s_", _some(_LETTERS, 36)),
    "github fine-grained": _joined("github", "_pat_", _some(_LETTERS, 22), "_", _some(_LETTERS, 59)),
    "gitlab": _joined("gl", "pat-", _some(_URL, 20)),
    "gitlab runner": _joined("gl", "rt-", _some(_URL, 20)),
    "slack bot": _joined("xo", "xb-", _some("0123456789", 12), "-", _some("0123456789", 13), "-", _some(_LETTERS, 24)),
    "slack app": _joined(
        "xa", "pp-1-A0", _some("0123456789ABCDEF", 9), "-", _some("0123456789", 13), "-", _some(_HEX, 64)
    ),
    "slack webhook": _joined(
        "T0", _some("0123456789ABC", 9), "/B0", _some("0123456789ABC", 9), "/", _some(_LETTERS, 24)
    ),
    "discord webhook": _some(_URL, 68),
    "discord bot": _joined("MT", _some(_LETTERS, 24), ".", _some(_URL, 6), ".", _some(_URL, 38)),
    "telegram": _joined(_some("123456789", 10), ":AA", _some(_URL, 33)),
    "stripe": _joined("sk", "_live_", _some(_LETTERS, 24)),
    "stripe restricted": _joined("rk", "_live_", _some(_LETTERS, 40)),
    "stripe webhook": _joined("wh", "sec_", _some(_LETTERS, 32)),
    "twilio": _joined("S", "K", _some(_HEX, 32)),
    "sendgrid": _joined("S", "G.", _some(_URL, 22), ".", _some(_URL, 43)),
    "mailgun": _joined("ke", "y-", _some(_HEX, 32)),
    "mailchimp": _joined(_some(_HEX, 32), "-us", "14"),
    "openai": _joined("s", "k-", _with_digit(_some(_LETTERS, 48))),
    "openai project": _joined("s", "k-", "proj-", _with_digit(_some(_URL, 80))),
    "anthropic": _joined("s", "k-", "ant-api03-", _with_digit(_some(_URL, 86)), "-AA"),
    "google api": _joined("AI", "za", _some(_URL, 35)),
    "google oauth": _joined("ya", "29.", _some(_URL, 80)),
    "google client": _joined("GOC", "SPX-", _some(_URL, 28)),
    "google refresh": _joined("1", "//0", _some(_URL, 60)),
    "aws id": _joined("AK", "IA", _some(string.ascii_uppercase + "234567", 16)),
    "aws secret": _some(_BASE64, 40),
    "azure storage": _joined(_some(_BASE64, 86), "=="),
    "azure client": _joined(_some(_LETTERS, 3), "8", "Q~", _some(_LETTERS, 34)),
    "azure signature": _joined(_some(_LETTERS, 43), "%3D"),
    "databricks": _joined("da", "pi", _some(_HEX, 32)),
    "digitalocean": _joined("do", "p_v1_", _some(_HEX, 64)),
    "shopify": _joined("sh", "pat_", _some(_HEX, 32)),
    "vault": _joined("hv", "s.", _some(_URL, 90)),
    "linear": _joined("lin", "_api_", _some(_LETTERS, 40)),
    "notion": _joined("nt", "n_", _some(_LETTERS, 46)),
    "npm": _joined("np", "m_", _some(_LETTERS, 36)),
    "pypi": _joined("py", "pi-", "AgEIcHlwaS5vcmc", _some(_URL, 120)),
    "rubygems": _joined("ruby", "gems_", _some(_HEX, 48)),
    "docker": _joined("dckr", "_pat_", _some(_URL, 27)),
    "hugging face": _joined("h", "f_", _some(string.ascii_letters, 34)),
    "replicate": _joined("r", "8_", _some(_LETTERS, 37)),
    "groq": _joined("gs", "k_", _some(_LETTERS, 52)),
    "atlassian": _joined("ATA", "TT3x", _some(_URL, 180)),
    "grafana": _joined("gl", "sa_", _some(_LETTERS, 32), "_", _some(_HEX, 8)),
    "sentry": _joined("sntr", "ys_", _some(_LETTERS, 80)),
    "new relic": _joined("NR", "AK-", _some(string.ascii_uppercase + string.digits, 27)),
    "postman": _joined("PM", "AK-", _some(_HEX, 24), "-", _some(_HEX, 34)),
    "figma": _joined("fi", "gd_", _some(_URL, 40)),
    "tailscale": _joined("ts", "key-auth-", _some(_LETTERS, 12), "-", _some(_LETTERS, 32)),
    "age": _joined("AGE-", "SECRET-KEY-1", _some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "jwt": _jwt,
    "private key": _pem("RSA "),
    "private key pkcs8": _pem(""),
    "password": _joined(_some(string.ascii_lowercase, 5), "-", _some(_LETTERS, 7), "9"),
    **VENDORS,
}
"""By name: makes one more secret of the format."""
