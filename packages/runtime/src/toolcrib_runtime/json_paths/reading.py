"""Reads a path: python-jsonpath parses it, and what it made of it becomes functions that are called with a `Walk`.

What RFC 9535 does not know, and the parser takes all the same, is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from jsonpath import JSONPath, JSONPathEnvironment
from jsonpath.exceptions import JSONPathError
from jsonpath.filter import (
    BaseExpression,
    FilterExpressionLiteral,
    FilterQuery,
    FloatLiteral,
    FunctionExtension,
    InfixExpression,
    IntegerLiteral,
    Nil,
    PrefixExpression,
    RegexLiteral,
    RootFilterQuery,
    StringLiteral,
)
from jsonpath.lex import Lexer
from jsonpath.parse import Parser
from jsonpath.segments import JSONPathRecursiveDescentSegment, JSONPathSegment
from jsonpath.selectors import (
    Filter,
    IndexSelector,
    JSONPathSelector,
    NameSelector,
    SliceSelector,
    WildcardSelector,
)
from jsonpath.stream import TokenStream
from jsonpath.token import (
    TOKEN_COLON,
    TOKEN_COMMA,
    TOKEN_EOF,
    TOKEN_INT,
    TOKEN_LBRACKET,
    TOKEN_LPAREN,
    TOKEN_RBRACKET,
    TOKEN_RPAREN,
    TOKEN_WHITESPACE,
    Token,
)

from toolcrib_core import JsonValue
from toolcrib_core.schema.patterns import linear_matcher
from toolcrib_core.schema.pointers import MISSING
from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import JsonPathError
from toolcrib_runtime.json_paths.walking import JsonPath, Segment, Select, Walk, child, children, is_ordered

MAX_NESTING: Final = 32
"""How deep brackets may stand in each other."""

_Test: TypeAlias = Callable[[Walk, JsonValue], bool]
_Operand: TypeAlias = Callable[[Walk, JsonValue], Any]
_Nodes: TypeAlias = Callable[[Walk, JsonValue], Sequence[JsonValue]]

_GROUP: Final = "()"
_CONNECTIVES: Final = frozenset({"&&", "||"})
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
# By a part of what the library says.
_OWN_WORDS: Final = {
    "TOKEN_ROOT": "a path begins with `$`",
    "shorthand": "expected a name or `*`; other names are written `['name']`",
    "must be compared": "a literal, `length(…)`, `count(…)` or `value(…)` must be compared with something",
    "non-singular": "a path to several values is not compared; `count(…)` counts them, `value(…)` takes the only one",
    "ValueType": "the function takes a literal or a path to one value",
    "NodesType": "the function takes a path",
}
_PATTERN_FUNCTIONS: Final = frozenset({"match", "search"})
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# Outside of a class a dot means all but two line breaks; the engine's own dot takes one of them, too.
_DOT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\.", re.DOTALL)
# Bytes of a compiled pattern, which bound the time for each character of a text.
_PATTERN_SIZE: Final = 64 * 1024
_MAX_PATTERN_LENGTH: Final = 1_000
_CHARACTERS_AT_ONCE: Final = 4
# Compiling a pattern that stands in the document takes as long as looking at so many values.
_COMPILING: Final = 200


def read_path(text: str, *, most: int) -> JsonPath:
    """Read a path of at most that many characters.

    Raises:
        JsonPathError: It is not one, or too long; `details["position"]` is the character, counted from 1.
    """
    if len(text) > most:
        raise _wrong(f"it has {len(text):,} characters, and may have {most:,}", most)
    try:
        _check_tokens(list(_ENVIRONMENT.lexer.tokenize(text)))
        parsed = _ENVIRONMENT.compile(text)
        if not isinstance(parsed, JSONPath):
            raise _wrong("it is more than one path", 0)
        return JsonPath(text, _Builder(text).segments(parsed.segments))
    except JSONPathError as error:
        raise _explained(error, text) from None


class _Lexer(Lexer):
    # The library's own has no character beyond U+FFFF.
    key_pattern = r"[\u0080-\uD7FF\uE000-\U0010FFFFa-zA-Z_][\u0080-\uD7FF\uE000-\U0010FFFFa-zA-Z0-9_-]*"


class _Parser(Parser):
    """Keeps what the library forgets: parentheses, which no value may stand in, and the form of numbers."""

    def parse_grouped_expression(self, stream: TokenStream) -> BaseExpression:
        return PrefixExpression(_GROUP, super().parse_grouped_expression(stream))

    def parse_integer_literal(self, stream: TokenStream) -> BaseExpression:
        token = stream.next()
        if _NUMBER.fullmatch(token.value) is None:
            raise _wrong(f"{quoted(token.value)} is not a number of JSON", token.index)
        if token.value.lstrip("-").isdecimal():
            return IntegerLiteral(value=int(token.value))
        return FloatLiteral(value=float(token.value))

    parse_float_literal = parse_integer_literal


class _Environment(JSONPathEnvironment):
    lexer_class = _Lexer
    parser_class = _Parser


_ENVIRONMENT: Final = _Environment(strict=True)


def _check_tokens(tokens: Sequence[Token]) -> None:
    """See to it that brackets are not too deep for a parser that calls itself, and that indices have no exponent."""
    opened: list[str] = []
    before = ""
    for token in tokens:
        if token.kind in {TOKEN_LBRACKET, TOKEN_LPAREN}:
            opened.append(token.kind)
        elif token.kind in {TOKEN_RBRACKET, TOKEN_RPAREN} and opened:
            opened.pop()
        elif (
            token.kind == TOKEN_INT
            and before in {TOKEN_LBRACKET, TOKEN_COMMA, TOKEN_COLON}
            and opened[-1:] == [TOKEN_LBRACKET]
            and not token.value.lstrip("-").isdecimal()
        ):
            raise _wrong(f"{quoted(token.value)} is not an index", token.index)
        if len(opened) > MAX_NESTING:
            raise _wrong(f"brackets stand in each other more than {MAX_NESTING} deep", token.index)
        if token.kind != TOKEN_WHITESPACE:
            before = token.kind


class _Builder:
    """Makes functions of what was parsed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def segments(self, parsed: Iterable[JSONPathSegment]) -> tuple[Segment, ...]:
        """The segments of a path."""
        return tuple(
            Segment(
                tuple(self._select(each) for each in segment.selectors),
                isinstance(segment, JSONPathRecursiveDescentSegment),
            )
            for segment in parsed
        )

    def _select(self, selector: JSONPathSelector) -> Select:
        self._at = selector.token.index
        match selector:
            case NameSelector(name=key) | IndexSelector(index=key):
                return _selecting_child(key)
            case SliceSelector(slice=chosen):
                return _selecting_slice(chosen)
            case WildcardSelector():
                return _select_all
            case Filter(expression=expression):
                return _selecting_by(self._test(expression.expression))
        raise self._unknown()

    def _test(self, expression: BaseExpression) -> _Test:
        match expression:
            case PrefixExpression(operator="()", right=inner):
                return self._test(inner)
            case PrefixExpression(operator="!", right=inner):
                if isinstance(inner, PrefixExpression) and inner.operator == "!":
                    raise self._wrong("a negation is not negated again without parentheses")
                return _negation(self._test(inner))
            case InfixExpression(operator=connective) if connective in _CONNECTIVES:
                tests = [self._test(each) for each in _operands(expression, connective)]
                return _conjunction(tests) if connective == "&&" else _disjunction(tests)
            case InfixExpression(operator=op, left=left, right=right) if op in _COMPARISONS:
                return _comparison(self._operand(left), op, self._operand(right))
            case FilterQuery():
                nodes = self._nodes(expression)
                return lambda walk, value: len(nodes(walk, value)) > 0
            case FunctionExtension(name=name, args=args) if name in _PATTERN_FUNCTIONS:
                return self._pattern_test(name, *args)
        raise self._wrong("a filter compares values, asks whether a place is there, or calls `match` or `search`")

    def _operand(self, expression: BaseExpression) -> _Operand:
        match expression:
            case Nil():
                return lambda _walk, _value: None
            case FilterExpressionLiteral(value=literal) if not isinstance(expression, RegexLiteral):
                return lambda _walk, _value: literal
            case FilterQuery(path=path) if path.singular_query():
                keys = [_key(segment.selectors[0]) for segment in path.segments]
                is_absolute = isinstance(expression, RootFilterQuery)
                return lambda walk, value: _at(walk.root if is_absolute else value, keys)
            case FunctionExtension(name="length", args=[argument]):
                measured = self._operand(argument)
                return lambda walk, value: _length(measured(walk, value))
            case FunctionExtension(name="count", args=[FilterQuery() as query]):
                counted = self._nodes(query)
                return lambda walk, value: len(counted(walk, value))
            case FunctionExtension(name="value", args=[FilterQuery() as query]):
                valued = self._nodes(query)
                return lambda walk, value: _only(valued(walk, value))
        raise self._wrong(
            "compared are a number, a string in quotes, `true`, `false`, `null`, a path to one value, "
            "`length(…)`, `count(…)` and `value(…)`"
        )

    def _nodes(self, query: FilterQuery) -> _Nodes:
        segments = self.segments(query.path.segments)
        if isinstance(query, RootFilterQuery):
            return lambda walk, _value: walk.find_from_root(segments)
        return lambda walk, value: [each for _, each in walk.find(value, segments)]

    def _pattern_test(self, name: str, text: BaseExpression, pattern: BaseExpression) -> _Test:
        is_whole = name == "match"
        texts, patterns = self._operand(text), self._operand(pattern)
        if isinstance(pattern, StringLiteral):
            fixed = _matcher(pattern.value, is_whole=is_whole)
            if fixed is None:
                raise self._wrong(
                    f"{quoted(pattern.value)} is no pattern, too large, or not one that is matched in linear time"
                )
            return lambda walk, value: _matches(walk, fixed, texts(walk, value))

        def test(walk: Walk, value: JsonValue) -> bool:
            walk.look_at(_COMPILING)
            wanted = patterns(walk, value)
            found = _matcher(wanted, is_whole=is_whole) if isinstance(wanted, str) else None
            return found is not None and _matches(walk, found, texts(walk, value))

        return test

    def _unknown(self) -> JsonPathError:
        return self._wrong("this is not part of JSONPath")  # pragma: no cover  # the strict parser has no other ones

    def _wrong(self, why: str) -> JsonPathError:
        return _wrong(why, self._at)


def _selecting_child(key: str | int) -> Select:
    def select(walk: Walk, value: JsonValue) -> Iterable[tuple[str | int, JsonValue]]:
        walk.look_at(1)
        found = child(value, key)
        if found is MISSING:
            return ()
        return ((key % len(value) if isinstance(key, int) and isinstance(value, list) else key, found),)

    return select


def _selecting_slice(chosen: slice) -> Select:
    def select(walk: Walk, value: JsonValue) -> Iterator[tuple[str | int, JsonValue]]:
        walk.look_at(1)
        if isinstance(value, list) and chosen.step != 0:
            for index in range(*chosen.indices(len(value))):
                walk.look_at(1)
                yield index, value[index]

    return select


def _select_all(walk: Walk, value: JsonValue) -> Iterable[tuple[str | int, JsonValue]]:
    walk.look_at(len(value) if isinstance(value, dict | list) else 1)
    return children(value)


def _selecting_by(test: _Test) -> Select:
    def select(walk: Walk, value: JsonValue) -> Iterator[tuple[str | int, JsonValue]]:
        for key, each in children(value):
            walk.look_at(1)
            if test(walk, each):
                yield key, each

    return select


def _operands(expression: BaseExpression, connective: str) -> list[BaseExpression]:
    """What a chain of one connective joins, without calling itself: a chain may be long."""
    found: list[BaseExpression] = []
    waiting = [expression]
    while waiting:
        each = waiting.pop()
        if isinstance(each, InfixExpression) and each.operator == connective:
            waiting += each.right, each.left
        else:
            found.append(each)
    return found


def _negation(test: _Test) -> _Test:
    return lambda walk, value: not test(walk, value)


def _conjunction(tests: Sequence[_Test]) -> _Test:
    return lambda walk, value: all(test(walk, value) for test in tests)


def _disjunction(tests: Sequence[_Test]) -> _Test:
    return lambda walk, value: any(test(walk, value) for test in tests)


def _comparison(left: _Operand, op: str, right: _Operand) -> _Test:
    if op in {"==", "!="}:
        return lambda walk, value: walk.equal(left(walk, value), right(walk, value)) == (op == "==")
    may_equal = op.endswith("=")

    def test(walk: Walk, value: JsonValue) -> bool:
        one, other = left(walk, value), right(walk, value)
        return is_ordered(one, op[0], other) or (may_equal and walk.equal(one, other))

    return test


def _key(selector: JSONPathSelector) -> str | int:
    return selector.name if isinstance(selector, NameSelector) else selector.index  # type: ignore[attr-defined]  # a path to one value has only these two


def _at(value: Any, keys: Iterable[str | int]) -> Any:
    for key in keys:
        if value is MISSING:
            break
        value = child(value, key)
    return value


def _length(value: object) -> object:
    return len(value) if isinstance(value, str | list | dict) else MISSING


def _only(values: Sequence[JsonValue]) -> object:
    return values[0] if len(values) == 1 else MISSING


@lru_cache(maxsize=64)
def _matcher(pattern: str, *, is_whole: bool) -> Callable[[str], bool] | None:
    """What tells whether a text, or some part of it, matches a regular expression of RFC 9485."""
    if len(pattern) > _MAX_PATTERN_LENGTH:
        return None
    adapted = _DOT.sub(lambda found: r"[^\n\r]" if found[0] == "." else found[0], pattern)
    return linear_matcher(f"^(?:{adapted})$" if is_whole else adapted, size_limit=_PATTERN_SIZE)


def _matches(walk: Walk, accepts: Callable[[str], bool], text: object) -> bool:
    if not isinstance(text, str):
        return False
    walk.look_at(1 + len(text) // _CHARACTERS_AT_ONCE)
    return accepts(text)


def _explained(error: JSONPathError, text: str) -> JsonPathError:
    message = str(error.args[0])
    # One kind of error has its token among its arguments.
    token = error.token or next((each for each in error.args if isinstance(each, Token)), None)
    if token is None:
        return _wrong("it has too many parts", 0)
    if token.kind == TOKEN_EOF and text:
        return _wrong("it ends too early", len(text))
    own = next((words for part, words in _OWN_WORDS.items() if part in message), None)
    if own is None and ("TOKEN_" in message or message.startswith("unexpected")):
        own = f"{quoted(token.value)} is not expected here"
    return _wrong(own or message.partition(" at index")[0], max(token.index, 0))


def _wrong(why: str, index: int) -> JsonPathError:
    return JsonPathError(
        f"The path is not understood at character {index + 1}: {why}.", details={"position": index + 1}
    )
