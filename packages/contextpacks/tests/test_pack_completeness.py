"""What a reviewer reads, page by page, is the whole pack; what a compact profile leaves out, it marks."""

from __future__ import annotations

import re
from collections import defaultdict
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pack_cases import Bench, document, legend, ref, section

from toolcrib_contextpacks.profiles import PROFILES
from toolcrib_contextpacks.render import LEFT_OUT
from toolcrib_core.tokens import count_tokens

pytestmark = pytest.mark.req("CT-8")

FRAGMENTS = [
    "plain words. ",
    "`code` ",
    "```",
    "日本語の文、",
    "👩‍👩‍👧 ",
    "\ttab",
    "  two  spaces",
    "# heading ",
    "[… cut] ",
    "   +: ",
    "> quote ",
    ">… ",
    "+ ",
    "- why: ",
    "- part: 1 of 2 ",
    "\u00a0",
    "\u202e",
    "é" * 40,
]
CODE_ROW = re.compile(r" *(\d+):(?: (.*))?", re.DOTALL)


def text_of(random: Random, most: int, *, ends: str = "\n") -> str:
    """A long text of many kinds, of at least one letter."""
    parts = [
        random.choice(FRAGMENTS) * random.choice([1, 1, 2, 5, 60, 900]) + random.choice([*ends, ""])
        for _ in range(random.randrange(6))
    ]
    return f"x{''.join(parts)}"[:most]


def large_pack(random: Random) -> tuple[dict[str, Any], list[str]]:
    """A document with long texts everywhere, and the lines of the file that it refers to."""
    some = [text_of(random, 20_000, ends=" ") for _ in range(random.randint(1, 4))]
    lines = [line for line in some for _ in range(random.choice([1, 3, 60]) if len(line) < 1_000 else 1)]

    def titled(key: str, **more: Any) -> dict[str, Any]:
        return {"key": key, "title": text_of(random, 300), "why": text_of(random, 2_000), **more}

    def ref_of(number: int) -> dict[str, Any]:
        first = random.randint(1, len(lines))
        group = text_of(random, 120, ends=" ")
        return titled(f"ref-{number}", path="large.py", line_start=first, line_end=len(lines), group=group)

    sections = [
        {
            "key": f"part-{number}",
            "title": text_of(random, 300),
            "description": text_of(random, 40_000),
            "refs": [ref_of(each) for each in range(random.randrange(4))],
            "diagrams": [titled("flow", mermaid=text_of(random, 20_000)) for _ in range(random.randrange(2))],
        }
        for number in range(random.randint(1, 3))
    ]
    tags = [f"{number}{text_of(random, 60, ends=' ')}" for number in range(random.choice([0, 1, 50]))]
    return {
        "title": text_of(random, 300),
        "brief": text_of(random, 4_000),
        "tags": tags,
        "sections": sections,
    }, lines


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), limit=st.none() | st.integers(20, 40))
@pytest.mark.req("D2-1.read.d", "D2-4d", "D2-7.61c")
def test_the_pages_of_a_reviewer_are_the_whole_pack_in_order(packs: Bench, seed: int, limit: int | None) -> None:
    made, lines = large_pack(Random(seed))
    (packs.root / "large.py").write_text("\n".join(lines) + "\n", encoding="utf-8")

    pages = _pages(packs, packs.packs.write(made).pack.id, profile="reviewer", limit=limit)

    assert max(map(count_tokens, pages)) <= PROFILES["reviewer"].max_tokens
    assert pages[0].splitlines()[1] == f"# Context pack: {_on_one_line(made['title'])}"
    found = _read_back(pages)
    assert found["brief"] in ([_block(made["brief"])], [_on_one_line(made["brief"])])
    if made["tags"]:
        tags = ", ".join(made["tags"])
        assert found["tags"] in ([_block(tags)], [_on_one_line(tags)])
    headings = [*dict.fromkeys(found["section"])]
    assert headings == [f"{_on_one_line(part['title'])} [{part['key']}]" for part in made["sections"]]
    for part in made["sections"]:
        key = part["key"]
        assert found[f"{key} description"] == [_block(part["description"])]
        assert set(found[f"{key} groups"]) == {_on_one_line(each["group"]) for each in part["refs"]} | (
            {"Diagrams"} if part["diagrams"] else set()
        )
        for each in [*part["refs"], *part["diagrams"]]:
            where = f"{key}/{each['key']}"
            for name in ("title", "why"):
                assert found[f"{where} {name}"] in ([_on_one_line(each[name])], [_block(each[name])])
        for each in part["refs"]:
            shown = [f"{number}:{_seen(lines[number - 1])}" for number in range(each["line_start"], len(lines) + 1)]
            assert found[f"{key}/{each['key']} code"] == shown
        for each in part["diagrams"]:
            assert found[f"{key}/{each['key']} code"] == _block(each["mermaid"]).split("\n")


def test_a_line_that_is_longer_than_a_page_goes_on_over_several(packs: Bench) -> None:
    line = "".join(f"{number:05};" for number in range(40_000))
    (packs.root / "min.js").write_text(f"first\n{line}\nlast\n", encoding="utf-8")
    made = packs.input("write", document=document(section("findings", refs=[ref(path="min.js", lines=(1, 3))])))

    pages = _pages(packs, made["id"], profile="reviewer")

    assert len(pages) > 1
    assert _read_back(pages)["findings/check code"] == ["1:first", f"2:{line}", "3:last"]
    assert "- long lines: a row that begins with `+:` continues the line above it" in pages[0]
    assert all("#### check [findings]" in page for page in pages)


def test_each_page_of_a_long_reference_says_which_part_it_is(packs: Bench) -> None:
    (packs.root / "long.py").write_text("".join(f"row {n} {'x' * 90}\n" for n in range(1, 2001)), encoding="utf-8")
    long = ref(path="long.py", lines=(1, 2000), why="Loops.")
    made = packs.input("write", document=document(section("findings", None, refs=[long])))

    pages = _pages(packs, made["id"], profile="reviewer")
    parts = [part for page in pages for part in re.findall(r"^- part: (\d+) of (\d+)$", page, re.MULTILINE)]

    assert len(pages) > 1
    assert parts == [(str(number), str(len(parts))) for number in range(1, len(parts) + 1)]
    assert [page.count("## Findings [findings]\n\n### group: ungrouped\n\n#### check") for page in pages] == [1] * len(
        pages
    )
    assert "".join(pages).count("- why: Loops.") == 1


def test_code_keeps_its_tabs_and_the_spaces_at_its_ends(packs: Bench) -> None:
    (packs.root / "Makefile").write_text("all:\n\tcc -o a  \n\n  \t\n", encoding="utf-8")
    made = packs.input("write", document=document(section("findings", None, refs=[ref(path="Makefile", lines=(1, 4))])))

    text = packs.call("output", action="read", id=made["id"], profile="reviewer")

    assert "```\n   1: all:\n   2: \tcc -o a  \n   3:\n   4:   \t\n```" in text


def test_a_brief_that_the_legend_has_no_room_for_comes_first(packs: Bench) -> None:
    brief = "First line.\n\n- " + "word " * 300
    made = packs.input("write", document=document(brief=brief, tags=[f"tag-{n:02}-{'x' * 50}" for n in range(20)]))

    text = packs.call("output", action="read", id=made["id"], profile="reviewer")

    found = legend(text)
    assert found["brief"] == found["tags"] == "see `About this pack`, the first chunk"
    content = text.split("[CONTENT]\n\n")[1]
    assert content.startswith(f"## About this pack\n\n- brief:\n  > First line.\n  >\n  > - {('word ' * 300).strip()}")
    assert "tag-19" in content


def test_a_token_is_refused_when_the_source_tree_has_moved_the_parts(packs: Bench) -> None:
    file = packs.root / "long.py"
    file.write_text("".join(f"row {n} {'x' * 90}\n" for n in range(1, 1001)), encoding="utf-8")
    made = packs.input("write", document=document(section("findings", refs=[ref(path="long.py", lines=(1, 1000))])))
    token = legend(packs.call("output", action="read", id=made["id"], profile="reviewer", limit=2))["next_page_token"]
    file.write_text(file.read_text(encoding="utf-8").replace("row 9 ", f"row 9 {'y' * 500} "), encoding="utf-8")

    error = packs.refused("output", action="read", id=made["id"], page_token=token)

    assert "invalid_page_token" in error["message"]


@pytest.mark.parametrize("profile", ["orchestrator", "executor"])
def test_where_a_compact_profile_cuts_there_is_a_mark_and_the_way_to_the_rest(packs: Bench, profile: str) -> None:
    long = "A sentence about the file auth.py, and so on. " * 40
    parts = [
        section(f"part-{n}", long * 20, title=long[:300], refs=[ref(title=long[:300], why=long[:2000])])
        for n in range(9)
    ]
    made = packs.input("write", document=document(*parts, brief=long[:4000], title=long[:300], tags=["x" * 64] * 1))

    pages = _pages(packs, made["id"], profile=profile)

    for page in pages:
        assert f"- left_out: {LEFT_OUT}" in page.splitlines()
        assert count_tokens(page) <= PROFILES[profile].max_tokens
        for line in re.findall(r"^(?:- (?:brief|why|title|scope|objective): .*|##+ A .*)$", page, re.MULTILINE):
            assert re.search(r"\[… cut\](?: \[part-\d\])?$", line)
    joined = "".join(pages)
    assert joined.count("> [… cut; profile=reviewer shows all of it]") == 9
    assert f'output {{"action": "read", "id": "{made["id"]}", "profile": "reviewer"}}' in pages[0]
    assert "[… cut" not in "".join(_pages(packs, made["id"], profile="reviewer"))


def test_a_text_is_cut_between_words_not_at_the_dot_of_a_file_name(packs: Bench) -> None:
    why = "auth.py compares tokens " + "and does so byte by byte " * 60
    made = packs.input("write", document=document(section("findings", None, refs=[ref(why=why)])))

    shown = re.findall(r"^- why: (.*) \[… cut\]$", packs.call("output", action="read", id=made["id"]), re.MULTILINE)

    assert len(shown) == 1
    assert why.startswith(shown[0] + " ")
    assert count_tokens(shown[0]) > 80


def _pages(packs: Bench, pack_id: str, **asked: Any) -> list[str]:
    """The text of every page."""
    page = packs.packs.read(pack_id=pack_id, **asked)
    pages = [page.text]
    while page.next_page_token is not None:
        page = packs.packs.read(pack_id=pack_id, page_token=page.next_page_token)
        pages.append(page.text)
    return pages


def _read_back(pages: list[str]) -> dict[str, list[str]]:
    """The texts of pages by section, unit and field, as a reader puts them together."""
    reader = _Reader()
    head = legend(pages[0])
    for name in ("brief", "tags"):
        if not head.get(name, "see `").startswith("see `"):
            reader.found[name].append(head[name])
    for page in pages:
        for line in page.split("\n[CONTENT]\n", 1)[1].split("\n"):
            reader.read(line)
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found: dict[str, list[str]] = defaultdict(list)
        self._section = self._where = self._field = ""
        self._fence: str | None = None

    def read(self, line: str) -> None:
        opening = re.fullmatch(r"(`{3,})\w*", line)
        if self._fence is not None:
            if line == self._fence:
                self._fence = None
            else:
                _take_code(self.found[f"{self._where} code"], line)
        elif opening:
            self._fence = opening[1]
        elif not self._read_heading(line):
            self._read_text(line)

    def _read_heading(self, line: str) -> bool:
        marks, _, title = line.partition(" ")
        if marks == "##":
            self._section = self._where = title.rpartition("[")[2].rstrip("]") if title.endswith("]") else ""
            self._field = f"{self._section} description"
            self.found["section"] += [title] if self._section else []
        elif marks == "###":
            self.found[f"{self._section} groups"].append(title.removeprefix("group: "))
        elif marks == "####":
            self._where = f"{self._section}/{title.split(' ')[0]}"
        return marks in {"##", "###", "####"}

    def _read_text(self, line: str) -> None:
        if quote := re.fullmatch(r"(?:  )?>(…?)(?: (.*))?", line):
            _take(self.found[self._field], quote[2] or "", goes_on=bool(quote[1]))
        elif said := re.fullmatch(r"- (brief|tags|title|why):(?: (.*))?", line):
            self._field = f"{self._where} {said[1]}".strip()
            self.found[self._field] += [said[2]] if said[2] is not None else []
        else:
            assert re.fullmatch(r"|- (?:part|lines|path|long lines): .*", line), line


def _take(texts: list[str], line: str, *, goes_on: bool) -> None:
    if not texts:
        texts.append(line)
    else:
        texts[0] += line if goes_on else f"\n{line}"


def _take_code(rows: list[str], row: str) -> None:
    numbered = CODE_ROW.fullmatch(row)
    if row.startswith("   +: "):
        rows[-1] += row[6:]
    elif row.startswith("+ "):
        rows[-1] += row[2:]
    elif numbered and not row.startswith("  x"):
        rows.append(f"{numbered[1]}:{numbered[2] or ''}")
    else:
        rows.append(row[2:])


def _seen(text: str) -> str:
    return text.replace("\u202e", "\\u202e")


def _on_one_line(text: str) -> str:
    return _seen(" ".join(text.strip().splitlines()))


def _block(text: str) -> str:
    lines = [_seen(line) if line.strip() else "" for line in text.splitlines()]
    return "\n".join(lines).strip("\n")
