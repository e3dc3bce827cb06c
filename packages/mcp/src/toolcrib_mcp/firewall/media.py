"""Binary content: its format by its first bytes, and what its header says about it."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.fitting import Outline
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.firewall.shown import clipped

_DIGEST_CHARS = 16
_MAX_SEGMENTS = 1_000
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_BITRATES = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0)


@dataclass(frozen=True)
class Format:
    """A binary format, known by bytes at a place."""

    name: str
    kind: ContentKind
    start: bytes
    offset: int = 0
    also: tuple[int, bytes] = (0, b"")

    def matches(self, content: bytes) -> bool:
        """Whether the content begins as this format does."""
        place, mark = self.also
        return content.startswith(self.start, self.offset) and content.startswith(mark, place)


_FORMATS = (
    Format("PNG", ContentKind.IMAGE, b"\x89PNG\r\n\x1a\n"),
    Format("JPEG", ContentKind.IMAGE, b"\xff\xd8\xff"),
    Format("GIF", ContentKind.IMAGE, b"GIF87a"),
    Format("GIF", ContentKind.IMAGE, b"GIF89a"),
    Format("WebP", ContentKind.IMAGE, b"RIFF", also=(8, b"WEBP")),
    Format("BMP", ContentKind.IMAGE, b"BM", also=(6, b"\0\0\0\0")),
    Format("TIFF", ContentKind.IMAGE, b"II*\0"),
    Format("TIFF", ContentKind.IMAGE, b"MM\0*"),
    Format("AVIF", ContentKind.IMAGE, b"ftypavif", offset=4),
    Format("HEIC", ContentKind.IMAGE, b"ftypheic", offset=4),
    Format("icon", ContentKind.IMAGE, b"\0\0\1\0"),
    Format("WAV", ContentKind.AUDIO, b"RIFF", also=(8, b"WAVE")),
    Format("FLAC", ContentKind.AUDIO, b"fLaC"),
    Format("Ogg", ContentKind.AUDIO, b"OggS"),
    Format("MP3", ContentKind.AUDIO, b"ID3"),
    Format("MP3", ContentKind.AUDIO, b"\xff\xfb"),
    Format("MP3", ContentKind.AUDIO, b"\xff\xf3"),
    Format("M4A", ContentKind.AUDIO, b"ftypM4A", offset=4),
    Format("MP4", ContentKind.BINARY, b"ftyp", offset=4),
    Format("PDF", ContentKind.BINARY, b"%PDF-"),
    Format("zip archive", ContentKind.BINARY, b"PK\x03\x04"),
    Format("gzip", ContentKind.BINARY, b"\x1f\x8b\x08"),
    Format("zstd", ContentKind.BINARY, b"\x28\xb5\x2f\xfd"),
    Format("7-Zip archive", ContentKind.BINARY, b"7z\xbc\xaf\x27\x1c"),
    Format("tar archive", ContentKind.BINARY, b"ustar", offset=257),
    Format("SQLite database", ContentKind.BINARY, b"SQLite format 3\0"),
    Format("ELF program", ContentKind.BINARY, b"\x7fELF"),
    Format("WebAssembly", ContentKind.BINARY, b"\0asm"),
    Format("Parquet", ContentKind.BINARY, b"PAR1"),
    Format("UTF-16 text", ContentKind.BINARY, b"\xff\xfe"),
    Format("UTF-16 text", ContentKind.BINARY, b"\xfe\xff"),
)


def binary_format(content: bytes) -> Format | None:
    """The format that the first bytes are typical of."""
    return next((each for each in _FORMATS if each.matches(content)), None)


def summarised_media(content: bytes, *, size: int, kind: ContentKind, media_type: str | None) -> Outline:
    """The outline of binary content of `size` bytes."""
    known = binary_format(content)
    name = known.name if known is not None else clipped(media_type or "unknown", 60)
    digest = hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]
    facts: JsonObject = {"format": name, "bytes": size, "sha256": digest}
    details = _details(content, name)
    word = {ContentKind.IMAGE: "Image", ContentKind.AUDIO: "Audio"}.get(kind, "Binary content")
    words = [f"{word}, format {name}", *_words(details), f"{size:,} bytes", f"sha-256 {digest}…"]
    return Outline(f"{', '.join(words)}.", [], facts | details)


def _words(details: JsonObject) -> list[str]:
    words = []
    if "width" in details:
        words.append(f"{details['width']} x {details['height']} pixels")
    if "seconds" in details:
        words.append(f"about {details['seconds']} s")
    if isinstance(details.get("entries"), int):
        words.append(count(int(str(details["entries"])), "entry", "entries"))
    return words


def _details(content: bytes, name: str) -> JsonObject:
    """What the header says; nothing when it is damaged or cut off."""
    try:
        return _READERS[name](content) if name in _READERS else {}
    except (struct.error, IndexError, ZeroDivisionError):
        return {}


def _area(width: int, height: int) -> JsonObject:
    return {"width": width, "height": height} if width and height else {}


def _png(content: bytes) -> JsonObject:
    return _area(*struct.unpack_from(">II", content, 16))


def _gif(content: bytes) -> JsonObject:
    return _area(*struct.unpack_from("<HH", content, 6))


def _bmp(content: bytes) -> JsonObject:
    width, height = struct.unpack_from("<ii", content, 18)
    return _area(abs(width), abs(height))


def _jpeg(content: bytes) -> JsonObject:
    place = 2
    for _ in range(_MAX_SEGMENTS):
        marker, length = struct.unpack_from(">xBH", content, place)
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", content, place + 5)
            return _area(width, height)
        place += 2 + length
    return {}


def _webp(content: bytes) -> JsonObject:
    match content[12:16]:
        case b"VP8X":
            width = int.from_bytes(content[24:27], "little") + 1
            return _area(width, int.from_bytes(content[27:30], "little") + 1)
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", content, 21)
            return _area((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    width, height = struct.unpack_from("<HH", content, 26)
    return _area(width & 0x3FFF, height & 0x3FFF)


def _wav(content: bytes) -> JsonObject:
    (rate,) = struct.unpack_from("<I", content, 28)
    return {"seconds": round((len(content) - 44) / rate, 1)}


def _flac(content: bytes) -> JsonObject:
    packed = int.from_bytes(content[18:26], "big")
    return {"seconds": round((packed & 0xFFFFFFFFF) / (packed >> 44), 1)}


def _mp3(content: bytes) -> JsonObject:
    start = 0
    if content.startswith(b"ID3"):
        # The size of the tag, seven bits in a byte.
        start = 10 + sum((byte & 0x7F) << 7 * (3 - index) for index, byte in enumerate(content[6:10]))
    rate = _BITRATES[content[start + 2] >> 4] if content.startswith(b"\xff\xfb", start) else 0
    return {"seconds": round((len(content) - start) * 8 / (rate * 1_000), 1)}


def _zip(content: bytes) -> JsonObject:
    end = content.rfind(b"PK\x05\x06", -66_000)
    (entries,) = struct.unpack_from("<H", content, end + 10) if end >= 0 else (0,)
    return {"entries": entries} if entries else {}


_READERS = {
    "PNG": _png,
    "GIF": _gif,
    "BMP": _bmp,
    "JPEG": _jpeg,
    "WebP": _webp,
    "WAV": _wav,
    "FLAC": _flac,
    "MP3": _mp3,
    "zip archive": _zip,
}
