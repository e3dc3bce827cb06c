"""How a key comes in: typed at a prompt that shows nothing, from a file, or from standard input; never from argv."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import typer

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets import MAX_API_KEY_LEN, read_api_key

STDIN: Final = "-"

_FILE_HINT = "Name a file that holds the key alone, or `-` for standard input."


def key_from(file: str | None, *, wanted: bool) -> Secret | None:
    """The key of a file, of standard input where that is `-`, or typed where one is wanted and somebody is there.

    Raises:
        ConfigError: There is no way to get one, or the file cannot be read.
        InvalidApiKey: It is no key.
    """
    if file == STDIN:
        return read_api_key(sys.stdin.read(MAX_API_KEY_LEN + 2).removesuffix("\n"))
    if file is not None:
        return read_api_key(_text_of(Path(file).expanduser()))
    if not wanted:
        return None
    if not sys.stdin.isatty():
        raise ConfigError(
            "A key is needed, and nobody is there to type it.",
            hint="Name a file with `--key-file FILE`, or `--key-file -` for standard input.",
        )
    return read_api_key(typer.prompt("Key", hide_input=True, err=True))


def _text_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(MAX_API_KEY_LEN + 2).removesuffix("\n")
    except UnicodeDecodeError:
        raise ConfigError(f"The key file {quoted(file.name)} is no text.", hint=_FILE_HINT) from None
    except OSError as failure:
        raise ConfigError(
            f"The key file {quoted(file.name)} cannot be read: {failure.strerror}.", hint=_FILE_HINT
        ) from None
