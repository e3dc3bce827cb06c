from __future__ import annotations

import io
import struct
import wave
import zipfile

import pytest
from inline_snapshot import snapshot

from toolcrib_mcp.firewall import ContentKind, content_kind, summarise

pytestmark = [pytest.mark.req("GW-4.5"), pytest.mark.fault("G10")]

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06\0\0\0"
GIF = b"GIF89a" + struct.pack("<HH", 32, 16)
BMP = b"BM" + b"\x40\0\0\0" + b"\0\0\0\0" + b"\x36\0\0\0" + b"\x28\0\0\0" + struct.pack("<ii", 20, -10)
JPEG = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x04cd\xff\xc2\0\x11\x08" + struct.pack(">HH", 30, 40) + b"\x03"
WEBP = b"RIFF\0\0\0\0WEBP"
VP8 = WEBP + b"VP8 " + b"\0" * 10 + struct.pack("<HH", 64, 48)
VP8L = WEBP + b"VP8L" + b"\0\0\0\0\x2f" + struct.pack("<I", (99) | (49 << 14))
VP8X = WEBP + b"VP8X" + b"\0" * 8 + (799).to_bytes(3, "little") + (599).to_bytes(3, "little")
FLAC = b"fLaC\0\0\0\x22" + b"\0" * 10 + ((44_100 << 44) | (1 << 41) | (15 << 36) | 88_200).to_bytes(8, "big")
MP3_FRAME = b"\xff\xfb\x90\0"


def sound(seconds: int) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(8_000)
        writer.writeframes(b"\0\0" * 8_000 * seconds)
    return made.getvalue()


def archive(names: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as writer:
        for index in range(names):
            writer.writestr(f"{index}.txt", "x")
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "width", "height"),
    [(PNG, 640, 480), (GIF, 32, 16), (BMP, 20, 10), (JPEG, 40, 30), (VP8, 64, 48), (VP8L, 100, 50), (VP8X, 800, 600)],
    ids=["PNG", "GIF", "BMP", "JPEG", "VP8", "VP8L", "VP8X"],
)
def test_an_image_says_how_large_it_is(content, width, height):
    assert content_kind(content) is ContentKind.IMAGE

    summary = summarise(content, ContentKind.IMAGE)

    assert (summary.facts["width"], summary.facts["height"]) == (width, height)
    assert f"{width} x {height} pixels" in summary.text


@pytest.mark.parametrize(
    ("content", "seconds"),
    [
        (sound(3), 3.0),
        (FLAC, 2.0),
        (MP3_FRAME + b"\0" * 159_996, 10.0),
        (b"ID3\x04\0\0\0\0\x01\x00" + b"\0" * 128 + MP3_FRAME + b"\0" * 159_996, 10.0),
    ],
    ids=["WAV", "FLAC", "MP3", "MP3 with a tag"],
)
def test_audio_says_how_long_it_is(content, seconds):
    assert content_kind(content) is ContentKind.AUDIO

    summary = summarise(content, ContentKind.AUDIO)

    assert summary.facts["seconds"] == seconds
    assert f"about {seconds} s" in summary.text


def test_an_image_in_words():
    assert summarise(PNG, ContentKind.IMAGE).text == snapshot(
        "Image, format PNG, 640 x 480 pixels, 29 bytes, sha-256 5c8494fe23013d51…."
    )


def test_audio_in_words():
    assert summarise(sound(3), ContentKind.AUDIO).text == snapshot(
        "Audio, format WAV, about 3.0 s, 48,044 bytes, sha-256 59db6dfb709393b7…."
    )


def test_an_archive_in_words():
    content = b"PK\x03\x04" + archive(12)

    assert summarise(archive(12), ContentKind.BINARY).facts["entries"] == 12
    assert "12 entries" in summarise(content, ContentKind.BINARY).text


def test_bytes_of_no_known_format_have_a_size_and_a_digest():
    assert summarise(b"\0\1\2", ContentKind.BINARY).text == snapshot(
        "Binary content, format unknown, 3 bytes, sha-256 ae4b3280e56e2faf…."
    )
    assert summarise(b"\0\1\2", ContentKind.IMAGE, media_type="image/x-\u202eodd").text == snapshot(
        "Image, format image/x-\\u202eodd, 3 bytes, sha-256 ae4b3280e56e2faf…."
    )


@pytest.mark.parametrize(
    "content",
    [PNG[:18], GIF[:8], BMP[:20], JPEG[:9], VP8[:20], VP8L[:22], b"RIFF\0\0\0\0WAVE", b"fLaC", b"ID3", b"PK\x03\x04"],
    ids=["PNG", "GIF", "BMP", "JPEG", "VP8", "VP8L", "WAV", "FLAC", "MP3", "zip"],
)
def test_a_header_that_is_cut_off_says_nothing_more(content):
    facts = summarise(content, content_kind(content)).facts

    assert set(facts) == {"format", "bytes", "sha256"}


@pytest.mark.parametrize(
    "content",
    [
        PNG[:16] + b"\0" * 8,
        b"\xff\xd8\xff" + b"\xe0\0\x02\xff" * 2_000,
        b"\xff\xd8" + b"\xff\xe0\0\x02" * 2_000,
        b"\xff\xf3\x90\0" * 10,
        b"RIFF\0\0\0\0WAVEfmt " + b"\0" * 40,
    ],
    ids=range(5),
)
def test_a_header_that_lies_says_nothing_more(content):
    facts = summarise(content, content_kind(content)).facts

    assert set(facts) == {"format", "bytes", "sha256"}
