"""Token counts are those of tiktoken, and need neither network nor writable directories."""

from __future__ import annotations

import base64
import gzip
import json
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public  # type: ignore[import-untyped]  # it has no types

from toolcrib_core import tokens
from toolcrib_core.errors import VocabularyError
from toolcrib_core.tokens import count_tokens, split_tokens, vocabulary

SCRIPTS = {
    "Latin": "Übergrößenträger façade naïve œuvre İstanbul ",
    "Greek": "Καλημέρα κόσμε, τι κάνεις; ",
    "Cyrillic": "Съешь ещё этих мягких французских булок ",
    "Hebrew": "שָׁלוֹם עוֹלָם מה שלומך ",
    "Arabic": "مرحبا بالعالم كيف حالك ",
    "Devanagari": "नमस्ते दुनिया, आप कैसे हैं ",
    "Thai": "สวัสดีชาวโลกสบายดีไหม ",
    "Han": "天気予報を取得する，创建一个问题。",
    "Kana": "こんにちは、カタカナもあります ",
    "Hangul": "안녕하세요 세계 어떻게 지내세요 ",
    "Georgian": "გამარჯობა მსოფლიო როგორ ხარ ",
    "Ethiopic": "ሰላም ልዑል እንዴት ነህ ",
    "Emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪 ☃︎ ✨🚀 ",
}
PIECES = [
    *SCRIPTS.values(),
    "github:create_issue@1.4.0 — Create an issue in a repository. [issues, write] (side effects)\n",
    json.dumps({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}),
    json.dumps({"$defs": {"node": {"$ref": "#/$defs/node"}}, "required": ["a", "b"]}, indent=2),
    "The quick brown fox jumps over the lazy dog; it's what they've always done, isn't it? ",
    "def fetch(url: str, *, timeout: float = 5.0) -> bytes:\n    return client.get(url)\n",
    "<|endoftext|><|fim_prefix|><|fim_middle|><|fim_suffix|><|endofprompt|>",
    " \t\t\n\n\r\n   \u00a0\u2003\u3000  ",
    "1234567890 3.14159 0x7f 2024-05-01T12:00:00Z ١٢٣ ",
    "....!?!?---===***//// \\\\ `code` «»“”…",
    "\ud800 lone \udfff surrogates \ud83d\ude00",
    "HTTPServerError snake_case_name camelCaseName kebab-case-name SCREAMING_CASE",
]


@pytest.fixture(scope="module")
def reference() -> tiktoken.Encoding:
    """The encoding as tiktoken defines it, its ranks read with a parser of our own in place of the download."""

    def parse(*_: object, **__: object) -> dict[bytes, int]:
        lines = gzip.decompress(vocabulary.SHIPPED_FILE.read_bytes()).splitlines()
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", parse)
        return tiktoken.Encoding(**openai_public.cl100k_base())


def varied_strings(number: int) -> list[str]:
    dice = random.Random(20_240_501)
    return [_varied_string(dice) for _ in range(number)]


def _varied_string(dice: random.Random) -> str:
    if dice.random() < 0.2:
        return "".join(chr(dice.choice([dice.randrange(0x20, 0x7F), dice.randrange(0x110000)])) for _ in range(40))
    text = "".join(dice.choice(PIECES) for _ in range(dice.randrange(1, 5)))
    start = dice.randrange(len(text))
    return text[start : start + dice.randrange(1, 200)]


@pytest.mark.req("GW-2.3", "D4-2.3a")
def test_counts_and_tokens_equal_those_of_tiktoken_on_six_thousand_varied_strings(
    reference: tiktoken.Encoding,
) -> None:
    texts = [*PIECES, *varied_strings(6000), "", "a", "\n", "x" * 5000]

    different = [
        text
        for text in texts
        if count_tokens(text) != len(reference.encode_ordinary(text))
        or split_tokens(text) != reference.decode_tokens_bytes(reference.encode_ordinary(text))
    ]

    assert different == []


@pytest.mark.req("GW-2.3")
@settings(max_examples=300)
@given(st.text(st.characters(exclude_categories=[]), max_size=300))
def test_counts_equal_those_of_tiktoken_on_any_text(reference: tiktoken.Encoding, text: str) -> None:
    assert count_tokens(text) == len(reference.encode_ordinary(text))


def test_every_special_token_is_counted_as_plain_text(reference: tiktoken.Encoding) -> None:
    for special in reference.special_tokens_set:
        assert count_tokens(special) > 1


def test_the_longest_token_of_the_vocabulary_is_the_constant_we_bound_texts_by(reference: tiktoken.Encoding) -> None:
    longest = max(map(len, reference.token_byte_values()))

    assert longest == vocabulary.LONGEST_TOKEN


def test_a_text_is_tokenised_once_however_often_it_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def counted_encoding() -> tiktoken.Encoding:
        asked.append(None)
        return vocabulary.encoding()

    monkeypatch.setattr(tokens, "encoding", counted_encoding)
    text = "a card that only this test counts"

    counts = {count_tokens(text) for _ in range(100)}

    assert counts == {7}
    assert len(asked) == 1


def test_a_text_too_long_for_the_memo_is_counted_like_any_other(reference: tiktoken.Encoding) -> None:
    text = PIECES[3] * 2000

    assert count_tokens(text) == len(reference.encode_ordinary(text))


def test_threads_that_count_at_once_share_one_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Path] = []
    load = vocabulary.load_encoding

    def counted_load(path: Path) -> tiktoken.Encoding:
        loads.append(path)
        return load(path)

    monkeypatch.setattr(vocabulary, "load_encoding", counted_load)
    vocabulary._load_once.cache_clear()
    start = threading.Barrier(8)
    seen: list[tiktoken.Encoding] = []

    def count() -> None:
        start.wait()
        seen.append(vocabulary.encoding())

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert loads == [vocabulary.SHIPPED_FILE]
    assert all(each is seen[0] for each in seen)


@pytest.mark.fault("A11")
def test_counting_works_without_network_home_or_cache_and_writes_nothing(tmp_path: Path) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    cache.mkdir()

    said = _run_offline("count_tokens('Create an issue in a repository.')", {"HOME": home, "TIKTOKEN_CACHE_DIR": cache})

    assert said == "7"
    assert list(home.iterdir()) == list(cache.iterdir()) == []


def test_importing_the_package_does_not_import_the_tokenizer() -> None:
    said = _run_offline("'tiktoken' in sys.modules", {})

    assert said == "False"


def _run_offline(expression: str, environment: dict[str, Path]) -> str:
    script = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "import toolcrib_core\n"
        "from toolcrib_core.tokens import count_tokens\n"
        f"print({expression})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={name: str(value) for name, value in environment.items()},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def _without_a_byte(content: bytes) -> bytes:
    return content[:5000] + content[5001:]


def _another_vocabulary(content: bytes) -> bytes:
    return gzip.compress(gzip.decompress(content).replace(b"IQ== 0\n", b"Ig== 0\n", 1))


def _endless(content: bytes) -> bytes:
    return gzip.compress(gzip.decompress(content) + b"\n" * 50_000_000)


@pytest.mark.fault("A11")
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (None, "missing"),
        (lambda _: b"", "checksum"),
        (lambda _: b"not gzip", "unpacked"),
        (lambda content: content[: len(content) // 2], "unpacked"),
        (_without_a_byte, "damaged"),
        (_another_vocabulary, "checksum"),
        (_endless, "checksum"),
    ],
    ids=["missing", "empty", "foreign", "half", "byte lost", "other ranks", "bomb"],
)
def test_a_missing_or_damaged_vocabulary_is_an_error_that_says_to_reinstall(
    tmp_path: Path, damage: Any, reason: str
) -> None:
    copy = tmp_path / "cl100k_base.tiktoken.gz"
    if damage is not None:
        copy.write_bytes(damage(vocabulary.SHIPPED_FILE.read_bytes()))

    with pytest.raises(VocabularyError, match=reason) as caught:
        vocabulary.load_encoding(copy)

    assert "Reinstall" in (caught.value.hint or "")
    assert str(tmp_path) not in str(caught.value.to_dict())


@pytest.mark.fault("A11")
def test_a_count_without_a_vocabulary_fails_and_the_next_one_with_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "a text that no other test counts"
    vocabulary._load_once.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(vocabulary, "SHIPPED_FILE", tmp_path / "gone.gz")
        with pytest.raises(VocabularyError):
            count_tokens(text)

    assert count_tokens(text) == 7
