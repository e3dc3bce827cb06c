"""A text that must not be seen: it comes out of its wrapper only by being asked for."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NoReturn, Self, final

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

REDACTED: Final = "••••"
"""What stands where a secret was."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@final
class Secret:
    """A secret text that shows itself as bullets, wherever it is printed, formatted, logged or dumped.

    `reveal` is the only way out. Call it where the text is used, and keep it in no variable: tracebacks can show
    variables. Secrets compare in constant time, and only with each other. A secret is never pickled; a copy is the
    secret itself. As the type of a pydantic field it reads text and dumps bullets; such a model should set
    `hide_input_in_errors=True`, since pydantic's own messages repeat what they were given.

    Raises:
        ValueError: The text is empty, is the bullets of a secret that was dumped, or has a lone surrogate.
    """

    __slots__ = ("_ask",)
    _ask: Callable[[], str]

    def __init__(self, text: str) -> None:
        if not text or text == REDACTED:
            raise ValueError("a secret must be neither empty nor the bullets that stand for one")
        if _LONE_SURROGATE.search(text):
            raise ValueError("a secret must be text that UTF-8 can carry")
        # A closure and not the text: what dumps objects lists slots and attributes, and prints this one as a function.
        object.__setattr__(self, "_ask", lambda: text)

    def reveal(self) -> str:
        """The text itself."""
        return self._ask()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a secret does not change")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self.reveal().encode(), other.reveal().encode())

    def __hash__(self) -> int:
        # The same for every secret: a hash of the text would let a reader of the hash try out guesses.
        return hash(Secret)

    def __repr__(self) -> str:
        return f"Secret({REDACTED})"

    def __str__(self) -> str:
        return REDACTED

    def __format__(self, specification: str) -> str:
        return REDACTED

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, known: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret is not pickled: give its text to the other process on a way made for secrets")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        from pydantic_core import core_schema

        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True, min_length=1))
        return core_schema.json_or_python_schema(
            json_schema=from_text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), from_text]),
            serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json"),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "minLength": 1, "format": "password", "writeOnly": True}
