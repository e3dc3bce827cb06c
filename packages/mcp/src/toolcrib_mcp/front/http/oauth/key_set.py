"""The keys of an issuer as it publishes them (RFC 7517), as far as signatures can be checked with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK, PyJWTError

from toolcrib_mcp.rpc.codec import decode

MAX_KEYS: Final = 100
"""How many keys an issuer may have."""

MIN_RSA_BITS: Final = 2048
"""How long an RSA key must be (RFC 7518, 3.3). It is checked here, because not every library of tokens does."""

# What a key must be for each way to sign. No way in which both sides know the same secret is among them: there, a
# public key would do as one.
_FITTING: Final[Mapping[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
ALGORITHMS: Final = frozenset(_FITTING)
"""The ways to sign that can be checked at all."""

_PUBLIC = frozenset({"kty", "kid", "use", "alg", "key_ops", "n", "e", "crv", "x", "y"})


class KeySet:
    """Public keys, each for one way to sign at a time."""

    def __init__(self, keys: tuple[Mapping[str, Any], ...]) -> None:
        self._keys = keys
        self._ready: dict[tuple[int, str], PyJWK | None] = {}

    def knows(self, kid: str | None) -> bool:
        """Whether there is a key of that name; a token that names none is satisfied with any."""
        return kid is None or any(key.get("kid") == kid for key in self._keys)

    def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """The one key that a token of this header can be checked with; none where it could be several."""
        fitting = [
            place
            for place, key in enumerate(self._keys)
            if (kid is None or key.get("kid") == kid) and _fits(key, algorithm)
        ]
        return self._key(fitting[0], algorithm) if len(fitting) == 1 else None

    def _key(self, place: int, algorithm: str) -> PyJWK | None:
        if (place, algorithm) not in self._ready:
            self._ready[place, algorithm] = _strong_key(self._keys[place], algorithm)
        return self._ready[place, algorithm]


def read_key_set(document: bytes) -> KeySet:
    """The keys of a document; what no signature can be checked with is left out, and so is what should be secret.

    Raises:
        ValueError: It is no such document, or has no key, or too many.
    """
    value = decode(document)
    listed = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(listed, list) or len(listed) > MAX_KEYS:
        raise ValueError(f"it is no document with a list of at most {MAX_KEYS} `keys`")
    keys = [key for key in listed if isinstance(key, dict) and any(_fits(key, each) for each in ALGORITHMS)]
    if not keys:
        raise ValueError("it has no key that a signature can be checked with")
    return KeySet(tuple({name: each for name, each in key.items() if name in _PUBLIC} for key in keys))


def _strong_key(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    """The key, ready for use; none where it is broken, or so short that others can find its private half."""
    try:
        made = PyJWK(dict(key), algorithm)
    except (PyJWTError, ValueError):
        # Numbers that make no key: some versions of the library pass on the error of `cryptography`.
        return None
    return None if isinstance(made.key, RSAPublicKey) and made.key.key_size < MIN_RSA_BITS else made


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    kind, curve = _FITTING[algorithm]
    operations = key.get("key_ops", ["verify"])
    return (
        key.get("kty") == kind
        and (curve is None or key.get("crv") == curve)
        and key.get("alg", algorithm) == algorithm
        and key.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
    )
