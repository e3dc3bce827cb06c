"""Which letters of other scripts look like ASCII ones, from Unicode's data as ICU has it: writes the table of the scan.

    PYTHONPATH=scripts python -m checks.look_alikes

It needs the library ICU, which most systems have. A newer ICU knows newer scripts.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import string
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from checks.workspace import ROOT

_TABLE = ROOT / "packages" / "mcp" / "src" / "toolcrib_mcp" / "scan" / "look_alikes.py"
_SURROGATES = range(0xD800, 0xE000)
_MAX_SKELETON = 400
_WIDTH = 100
_HEAD = '''"""Characters of all scripts that look like one ASCII letter.

`scripts/checks/look_alikes.py` makes this table from the confusables of UTS #39, Unicode {unicode}. Compatibility forms
such as full width are left out: NFKC finds them.
Copyright © 2004-2025 Unicode, Inc., under the licence in `UNICODE-LICENSE.txt` beside this file.
"""

from __future__ import annotations

from typing import Final

_BY_LETTER: Final = {{
'''
_FOOT = """}

LOOK_ALIKES: Final = {alike: letter for letter, group in _BY_LETTER.items() for alike in group}
\"\"\"Each with the letter that it looks like. What looks like a capital `I` is under the small `l`.\"\"\"
"""


def main() -> None:
    """Write the table."""
    name = ctypes.util.find_library("icui18n")
    if name is None:
        sys.exit("The library ICU (icui18n) is not on this machine. Install it and run this again.")
    library, version = ctypes.CDLL(name), name.rsplit(".", 1)[-1]
    groups = _groups(_skeletons(library, version))
    lines = [line for letter, group in groups.items() for line in _lines(letter, group)]
    _TABLE.write_text(_HEAD.format(unicode=_unicode_version(library, version)) + "".join(lines) + _FOOT, "utf-8")


def _groups(skeleton: Callable[[str], str]) -> Mapping[str, str]:
    letters = {skeleton(each): each for each in reversed(string.ascii_lowercase + string.ascii_uppercase)}
    groups: dict[str, str] = defaultdict(str)
    for code in range(0x80, sys.maxunicode + 1):
        letter = letters.get(skeleton(chr(code))) if code not in _SURROGATES else None
        if letter is not None and not unicodedata.normalize("NFKC", chr(code)).isascii():
            groups[letter] += chr(code)
    return dict(sorted(groups.items()))


def _skeletons(library: ctypes.CDLL, version: str) -> Callable[[str], str]:
    error = ctypes.c_int(0)
    opened = library[f"uspoof_open_{version}"]
    opened.restype = ctypes.c_void_p
    checker = ctypes.c_void_p(opened(ctypes.byref(error)))
    buffer = ctypes.create_string_buffer(_MAX_SKELETON)

    def skeleton(text: str) -> str:
        data = text.encode()
        call = library[f"uspoof_getSkeletonUTF8_{version}"]
        length = call(checker, 0, data, len(data), buffer, _MAX_SKELETON, ctypes.byref(error))
        if error.value > 0:
            raise OSError(f"ICU has no skeleton of {text!r}: error {error.value}")
        return buffer.raw[:length].decode()

    return skeleton


def _unicode_version(library: ctypes.CDLL, version: str) -> str:
    parts = (ctypes.c_uint8 * 4)()
    library[f"u_getUnicodeVersion_{version}"](parts)
    return f"{parts[0]}.{parts[1]}"


def _lines(letter: str, group: str) -> Iterator[str]:
    escapes = [f"\\u{ord(each):04x}" if ord(each) <= 0xFFFF else f"\\U{ord(each):08x}" for each in group]  # noqa: PLR2004  # the last of four digits
    rows = [""]
    for escape in escapes:
        if len(rows[-1]) + len(escape) > _WIDTH:
            rows.append("")
        rows[-1] += escape
    if len(rows) == 1:
        yield f'    "{letter}": "{rows[0]}",\n'
        return
    yield f'    "{letter}": (\n'
    yield from (f'        "{row}"\n' for row in rows)
    yield "    ),\n"


if __name__ == "__main__":
    main()
