"""References: confined to the source root, hashed when written, and never the reason that a read fails."""

from __future__ import annotations

import pytest
from pack_cases import CODE, Bench, bench, document, ref, section

pytestmark = pytest.mark.req("CP-15")


def test_the_lines_that_a_reference_names_are_shown_to_a_reviewer(packs: Bench) -> None:
    made = packs.input("write", document=document())

    text = packs.call("output", action="read", id=made["id"], profile="reviewer")

    assert "```python\n   2: line 2\n   3: line 3\n   4: line 4\n```" in text


@pytest.mark.req("D2-1.read.j", "D2-4m")
def test_lines_that_changed_are_told_from_lines_that_are_gone(packs: Bench) -> None:
    refs = [ref("same", lines=(1, 2)), ref("changed", lines=(3, 3)), ref("gone", lines=(30, 40))]
    made = packs.input("write", document=document(section("findings", refs=refs)))
    (packs.root / "src/auth.py").write_text(CODE.replace("line 3\n", "LINE 3\n").split("line 20")[0], encoding="utf-8")

    text = packs.call("output", action="read", id=made["id"])

    chunks = {part.split(" ")[0]: part for part in text.split("#### ")[1:]}
    assert "ref:" not in chunks["same"]
    assert "- drifted ref: these lines have changed since the pack was written" in chunks["changed"]
    assert "- stale ref: the file has 19 lines, and the reference goes to line 30" in chunks["gone"]
    assert "stale refs: gone" in text
    assert "drifted refs: changed" in text


def test_writing_a_drifted_reference_again_takes_its_lines_as_they_are_and_says_so(packs: Bench) -> None:
    made = packs.input("write", document=document())
    (packs.root / "src/auth.py").write_text(CODE.upper(), encoding="utf-8")

    again = packs.input("write", id=made["id"], expected_revision=1, document=document())

    assert again["renewed_refs"] == ["findings/check"]
    assert again["ref_hashes"] != made["ref_hashes"]
    assert "drifted" not in packs.call("output", action="read", id=made["id"])


def test_finalizing_as_it_is_does_not_hide_drift(packs: Bench) -> None:
    made = packs.packs.write(document()).pack
    (packs.root / "src/auth.py").write_text(CODE.upper(), encoding="utf-8")

    packs.packs.set_status("finalized", pack_id=made.id)

    assert "- drifted ref:" in packs.call("output", action="read", id=made.id)


def test_how_a_file_ends_its_lines_is_no_drift(packs: Bench) -> None:
    made = packs.input("write", document=document())
    (packs.root / "src/auth.py").write_bytes(CODE.replace("\n", "\r\n").encode())

    text = packs.call("output", action="read", id=made["id"], profile="reviewer")

    assert "drifted" not in text
    assert "   2: line 2\n" in text


def test_every_bad_reference_is_a_marker_and_the_rest_is_read(tmp_path) -> None:
    with bench(tmp_path, max_source_bytes=2_000) as packs:
        (tmp_path / "outside.py").write_text("secret\n", encoding="utf-8")
        (packs.root / "link.py").symlink_to(tmp_path / "outside.py")
        (packs.root / "linked").symlink_to(tmp_path)
        (packs.root / "binary.py").write_bytes(b"\xff\xfe\x00\n" * 9)
        (packs.root / "large.py").write_text("x\n" * 2_000, encoding="utf-8")
        (packs.root / "empty.py").write_text("", encoding="utf-8")
        paths = ["link.py", "linked/outside.py", "binary.py", "large.py", "empty.py", "src", "none.py", "a" * 400]
        refs = [ref(f"ref-{number}", path=path, lines=(1, 1)) for number, path in enumerate(paths)]
        made = packs.input("write", document=document(section("findings", refs=[*refs, ref("fine")])))

        text = packs.call("output", action="read", id=made["id"], profile="reviewer")

    assert made["stale_refs"] == [f"findings/ref-{number}" for number in range(8)]
    assert text.count("- stale ref: ") == 8
    assert "symbolic link" in text
    assert "secret" not in text
    assert "   2: line 2" in text


def test_without_a_source_root_every_reference_is_a_marker(tmp_path) -> None:
    with bench(tmp_path) as packs:
        made = packs.input("write", document=document())
        for file in (packs.root / "src/auth.py",):
            file.unlink()
        (packs.root / "src").rmdir()
        packs.root.rmdir()

        text = packs.call("output", action="read", id=made["id"])

    assert "- stale ref: the source root cannot be opened" in text
