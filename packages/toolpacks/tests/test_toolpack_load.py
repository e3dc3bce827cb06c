"""Loading a folder of packs: which files, in which order, all or none."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from loading_packs import CHILDREN, CLI, GONE, loaded, pack_with, places, violations, write, write_text

from toolcrib_core import ToolError, ToolErrorCategory, canonical_json
from toolcrib_toolpacks import Toolpack, ToolpackLoader, ToolpackValidationError

PROGRAM = """
from pathlib import Path
import sys

from toolcrib_toolpacks.loader import ToolpackLoader, ToolpackValidationError

loader = ToolpackLoader()
try:
    loader.load_dir(Path(sys.argv[1]))
except ToolpackValidationError as exc:
    raise SystemExit(f"invalid toolpack: {exc}")

for pack in loader.list():
    print(pack.id, pack.execution["kind"], pack.timeout_ms)
"""


@pytest.mark.req("TP-1", "D0-0b", "D0-1a", "D0-1b", "D0-1c", "D0-1g", "D0-1h", "D0-1i")
def test_the_program_of_the_source_document_works_as_written(tmp_path: Path) -> None:
    write(tmp_path / "good", {"id": "b.two"}, name="one")
    write(tmp_path / "good/deeper", {"id": "a.one", "execution": CLI, "caps": CHILDREN}, name="two")
    write(tmp_path / "bad", {"timeoutMs": GONE})

    good = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "good"], capture_output=True, text=True, check=False
    )
    bad = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "bad"], capture_output=True, text=True, check=False)

    assert (good.stdout, good.stderr) == ("a.one cli 2000\nb.two python 2000\n", "")
    assert bad.stderr == "invalid toolpack: a.tool.yaml:1: timeoutMs: is missing; the file needs it. (missing-key)\n"
    assert bad.returncode == 1


@pytest.mark.req("TP-1", "D0-0a", "D0-1d")
def test_packs_are_found_in_every_folder_beneath_but_not_in_hidden_ones_or_those_of_package_tools(
    tmp_path: Path,
) -> None:
    for number, place in enumerate((".", "x/y/z", ".git", "node_modules/p", "__pycache__")):
        write(tmp_path / place, {"id": f"a.n{number}"}, name=f"p{number}")
    write_text(tmp_path, "a.tool.yml", "not looked at")
    write_text(tmp_path, "tool.yaml", "not looked at")
    write_text(tmp_path, "env/pyvenv.cfg", "")
    write(tmp_path / "env/lib", {"id": "a.env"})

    found = [(each.id, each.file) for each in ToolpackLoader().load_dir(str(tmp_path))]

    assert found == [("a.n0", "p0.tool.yaml"), ("a.n1", "x/y/z/p1.tool.yaml")]


@pytest.mark.req("TP-1", "D0-1j", "D0-1k")
def test_a_pack_is_had_by_its_id_in_any_spelling_and_a_wrong_id_is_a_key_error(tmp_path: Path) -> None:
    write(tmp_path)
    loader = ToolpackLoader()
    loader.load_dir(tmp_path)

    for name in ("weather.forecast", "weather:forecast", "weather:forecast@1.0.0", "weather.forecast@1.0.0"):
        assert loader.get(name) is loader.list()[0]
    with pytest.raises(KeyError):
        loader.get("weather.forecasts")


@pytest.mark.req("TP-1", "TP-11")
def test_a_folder_that_is_missing_or_is_a_file_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path)

    assert [each.code for each in violations(tmp_path / "missing")] == ["no-folder"]
    assert [each.code for each in violations(file)] == ["no-folder"]


@pytest.mark.req("TP-1")
def test_an_empty_folder_has_no_packs(tmp_path: Path) -> None:
    assert ToolpackLoader().load_dir(tmp_path) == ()


@pytest.mark.req("TP-1")
def test_one_file_can_be_loaded_alone(tmp_path: Path) -> None:
    file = write(tmp_path, name="one")
    write(tmp_path, {"id": "Bad"}, name="two")

    assert [each.id for each in ToolpackLoader().load_file(file)] == ["weather.forecast"]
    with pytest.raises(ToolpackValidationError, match="no-file"):
        ToolpackLoader().load_file(tmp_path / "three.tool.yaml")


@pytest.mark.req("TP-2")
def test_a_load_that_fails_leaves_what_was_loaded_before(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two", {"id": "other.tool"}, name="good")
    write(tmp_path / "two", {"deterministic": "maybe"}, name="bad")
    loader = ToolpackLoader()
    before = loader.load_dir(tmp_path / "one")

    with pytest.raises(ToolpackValidationError):
        loader.load_dir(tmp_path / "two")

    assert loader.list() == before
    assert loader.get("weather.forecast") is before[0]


@pytest.mark.req("CT-22")
def test_a_load_adds_to_what_is_loaded(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two", {"id": "other.tool"})
    alone = write(tmp_path / "three", {"id": "third.tool"})
    loader = ToolpackLoader()

    loader.load_dir(tmp_path / "one")
    second = loader.load_dir(tmp_path / "two")
    loader.load_file(alone)

    assert [each.id for each in second] == ["other.tool"]
    assert [each.id for each in loader.list()] == ["other.tool", "third.tool", "weather.forecast"]


@pytest.mark.req("CT-22")
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_an_id_that_another_call_loaded_is_refused_and_both_files_are_named(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    files = {str(write(tmp_path / name, name=name)) for name in order}
    loader = ToolpackLoader()
    before = loader.load_dir(tmp_path / order[0])

    with pytest.raises(ToolpackValidationError) as caught:
        loader.load_dir(tmp_path / order[1])
    with pytest.raises(ToolpackValidationError):
        loader.load_file(tmp_path / order[1] / f"{order[1]}.tool.yaml")

    assert {each.file for each in caught.value.violations} == files
    assert all((each.path, each.line, each.code) == ("id", 1, "duplicate-id") for each in caught.value.violations)
    assert all(any(file in each.message for file in files) for each in caught.value.violations)
    assert loader.list() == before


@pytest.mark.req("CT-22", "TP-10")
def test_both_files_are_named_whole_however_long_their_paths_are(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    files = [str(write(deep, name=name)) for name in ("one", "two")]

    within = violations(deep)
    loader = ToolpackLoader()
    loader.load_file(files[0])
    with pytest.raises(ToolpackValidationError) as across:
        loader.load_file(files[1])

    assert [each.message for each in within] == [
        f"`weather.forecast` is also the id of `{name}.tool.yaml`; an id has one file." for name in ("two", "one")
    ]
    assert [each.message for each in across.value.violations] == [
        f"`weather.forecast` is also the id of `{file}`; an id has one file." for file in reversed(files)
    ]


@pytest.mark.req("CT-22")
def test_reload_replaces_all_that_is_loaded_by_what_the_folders_hold_now(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two", {"id": "other.tool"})
    loader = ToolpackLoader()
    loader.load_dir(tmp_path / "one")
    loader.load_dir(tmp_path / "two")
    (tmp_path / "one/a.tool.yaml").unlink()
    write(tmp_path / "one", {"id": "new.tool"}, name="b")
    write(tmp_path / "two", {"id": "other.tool", "timeoutMs": 5})

    again = loader.reload()

    assert [(each.id, each.timeout_ms) for each in again] == [("new.tool", 2000), ("other.tool", 5)]
    assert loader.list() == again


@pytest.mark.req("CT-22", "TP-2")
def test_a_reload_that_fails_leaves_what_was_loaded_before(tmp_path: Path) -> None:
    write(tmp_path / "one")
    write(tmp_path / "two", {"id": "other.tool"})
    loader = ToolpackLoader()
    loader.load_dir(tmp_path / "one")
    loader.load_dir(tmp_path / "two")
    before = loader.list()

    write(tmp_path / "two", {"id": "weather.forecast"})
    with pytest.raises(ToolpackValidationError, match="duplicate-id"):
        loader.reload()
    write_text(tmp_path, "two/a.tool.yaml", "id: [")
    with pytest.raises(ToolpackValidationError, match="not-yaml"):
        loader.reload()

    assert loader.list() == before


@pytest.mark.req("CT-22")
def test_a_folder_that_is_loaded_again_is_read_anew_and_one_within_another_has_no_duplicates(tmp_path: Path) -> None:
    file = write(tmp_path / "in")
    loader = ToolpackLoader()
    loader.load_dir(tmp_path / "in")
    loader.load_file(file)
    loader.load_dir(tmp_path)
    write(tmp_path / "in", {"timeoutMs": 7})

    loader.load_dir(tmp_path)

    assert [(each.id, each.timeout_ms) for each in loader.list()] == [("weather.forecast", 7)]


@pytest.mark.req("TP-10", "D0-2q", "D0-3g", "D0-4c")
def test_an_id_in_two_files_is_refused_and_both_files_are_named(tmp_path: Path) -> None:
    write(tmp_path / "x", name="one")
    write(tmp_path / "y", name="two")

    first, second = violations(tmp_path)

    assert (first.file, first.line, first.path, first.code) == ("x/one.tool.yaml", 1, "id", "duplicate-id")
    assert (second.file, second.code) == ("y/two.tool.yaml", "duplicate-id")
    assert "y/two.tool.yaml" in first.message
    assert "x/one.tool.yaml" in second.message


@pytest.mark.req("TP-11", "D0-3a", "D0-3c")
@pytest.mark.fault("C4")
def test_every_fault_of_every_file_is_told_with_file_line_path_code_and_message(tmp_path: Path) -> None:
    write_text(
        tmp_path,
        "a.tool.yaml",
        "id: weather.forecast\nversion: '1.0.0'\ndeterminstic: true\ntimeoutMs: 2000\n"
        "limits: {maxInputBytes: 1, maxOutputBytes: 2}\ninputSchema:\n  type: object\n  properties:\n"
        "    days:\n      type: numbr\noutputSchema: {}\nexecution:\n  kind: pyhton\n",
    )
    write(tmp_path, {"limits.maxInputBytes": 0, "caps.netwrk": ["http"]}, name="b")

    found = [(each.file, each.line, each.path, each.code) for each in violations(tmp_path)]

    assert found == [
        ("a.tool.yaml", 3, "determinstic", "unknown-key"),
        ("a.tool.yaml", 10, "inputSchema.properties.days.type", "bad-schema"),
        ("a.tool.yaml", 13, "execution.kind", "unknown-kind"),
        ("b.tool.yaml", 6, "limits.maxInputBytes", "out-of-bounds"),
        ("b.tool.yaml", 22, "caps.netwrk", "unknown-key"),
    ]


@pytest.mark.req("TP-11", "CT-7", "D0-3c")
def test_the_error_is_data_and_prints_one_line_for_each_fault(tmp_path: Path) -> None:
    write(tmp_path, {"timeoutMs": True, "execution.kind": "pyton"})

    with pytest.raises(ToolpackValidationError) as caught:
        ToolpackLoader().load_dir(tmp_path)
    error = caught.value

    assert str(error).splitlines() == [
        "a.tool.yaml:4: timeoutMs: must be an integer, and is a boolean. (wrong-type)",
        (
            "a.tool.yaml:19: execution.kind: `pyton` is not a kind of execution. Did you mean `python`? "
            "Known are `python`, `node`, `php`, `cli`, `http`. (unknown-kind)"
        ),
    ]
    assert isinstance(error, ToolError)
    assert (error.code, error.category) == ("toolbox.invalid-toolpack", ToolErrorCategory.VALIDATION)
    assert error.message == "1 tool file cannot be used: 2 places must be mended, the first is `a.tool.yaml:4`."
    assert ToolError.from_dict(error.to_dict()).details == error.details
    assert pickle.loads(pickle.dumps(error)) == error
    assert str(tmp_path) not in json.dumps(error.to_dict())


@pytest.mark.req("TP-12", "D0-3j")
def test_a_pack_cannot_be_changed_in_any_depth(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "execution": {"kind": "http", "url": "https://example.com/", "headers": {"X-A": "1"}},
            "caps": {"network": ["https"]},
            "env": {"set": {"A": "1"}},
            "metadata": {"deep": {"list": [1]}},
            "templating": {"context": {"a": {"b": 1}}},
        },
    )
    pack = loaded(tmp_path)

    for change in (
        lambda: setattr(pack, "id", "x"),
        lambda: setattr(pack.limits, "max_input_bytes", 1),
        lambda: pack.input_schema.update(x=1),
        lambda: pack.input_schema["properties"].clear(),
        lambda: pack.input_schema["required"].append("x"),
        lambda: pack.execution.headers.update(X="1"),
        lambda: pack.env.assigned.clear(),
        lambda: pack.metadata["deep"]["list"].append(2),
        lambda: pack.templating.context["a"].update(b=2),
        lambda: pack.definition.metadata.clear(),
    ):
        with pytest.raises((TypeError, ValueError)):
            change()
    assert isinstance(hash(pack), int)


@pytest.mark.req("TP-12")
def test_the_content_hash_tells_what_a_pack_does_and_not_where_or_how_it_is_written(tmp_path: Path) -> None:
    script = {"execution": {"kind": "python", "script": "run.py"}}
    for place in ("one", "two", "three", "four"):
        write(tmp_path / place, script, name="p")
        write_text(tmp_path / place, "run.py", "print({})")
    document = pack_with(script)
    reordered = dict(reversed(document.items()))
    write_text(tmp_path / "two", "p.tool.yaml", f"# a comment\n{json.dumps(reordered, indent=4)}")
    write_text(tmp_path / "three", "run.py", "print({1})")
    write(tmp_path / "four", {**script, "timeoutMs": 2001}, name="p")

    one, two, three, four = (loaded(tmp_path / each).content_hash for each in ("one", "two", "three", "four"))

    assert one == two
    assert len({one, three, four}) == 3


@pytest.mark.req("TP-12", "D0-0f")
def test_a_snapshot_is_the_same_bytes_in_another_place_written_in_another_order(tmp_path: Path) -> None:
    packs = {f"p{number}": {"id": f"a.t{number}"} for number in range(5)}
    for name, changes in packs.items():
        write(tmp_path / "one", changes, name=name)
    for name, changes in reversed(packs.items()):
        write(tmp_path / "two/else", changes, name=f"z{name}")
    one, two = ToolpackLoader(), ToolpackLoader()
    one.load_dir(tmp_path / "one")
    two.load_dir(tmp_path / "two/else")

    snapshot = one.snapshot()

    assert snapshot == two.snapshot()
    assert [each["id"] for each in json.loads(snapshot)["toolpacks"]] == [f"a.t{number}" for number in range(5)]
    assert canonical_json(json.loads(snapshot)) == snapshot
    assert str(tmp_path).encode() not in snapshot


@pytest.mark.req("TP-12")
def test_a_snapshot_changes_with_any_pack(tmp_path: Path) -> None:
    loader = ToolpackLoader()
    write(tmp_path)
    loader.load_dir(tmp_path)
    before = loader.snapshot()
    write(tmp_path, {"description": "new"})
    loader.load_dir(tmp_path)

    assert loader.snapshot() != before


@pytest.mark.fault("C10")
def test_a_pack_that_was_edited_after_it_was_pinned_is_refused_as_drift(tmp_path: Path) -> None:
    write(tmp_path, {"execution": {"kind": "python", "script": "run.py"}})
    write_text(tmp_path, "run.py", "print({})")
    pins = {"weather.forecast": loaded(tmp_path).content_hash}

    assert len(ToolpackLoader(pins=pins).load_dir(tmp_path)) == 1
    write_text(tmp_path, "run.py", "print('something else')")
    with pytest.raises(ToolpackValidationError) as caught:
        ToolpackLoader(pins=pins).load_dir(tmp_path)

    assert [each.code for each in caught.value.violations] == ["definition-drift"]


@pytest.mark.fault("C10")
def test_an_edit_of_a_script_changes_the_digest_of_the_definition_too(tmp_path: Path) -> None:
    write(tmp_path, {"execution": {"kind": "python", "script": "run.py"}})
    write_text(tmp_path, "run.py", "print({})")
    before = loaded(tmp_path).definition.digest
    write_text(tmp_path, "run.py", "print({1})")

    assert loaded(tmp_path).definition.digest != before


@pytest.mark.fault("C5")
def test_a_link_to_a_pack_or_to_a_folder_is_refused_and_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.tool.yaml").symlink_to(outside)
    (inside / "more").symlink_to(outside.parent)
    (inside / "run.sh").symlink_to("/bin/sh")

    assert [(each.file, each.code) for each in violations(inside)] == [
        ("a.tool.yaml", "outside-root"),
        ("more", "outside-root"),
    ]


@pytest.mark.fault("C5")
def test_a_folder_that_is_swapped_for_a_link_while_it_is_loaded_gives_nothing_from_outside(tmp_path: Path) -> None:
    for number in range(8):
        write(tmp_path / "packs/sub", {"id": f"good.t{number}"}, name=f"p{number}")
        write(tmp_path / "outside", {"id": f"evil.t{number}"}, name=f"p{number}")
    spare, place, stop = tmp_path / "spare", tmp_path / "packs/sub", threading.Event()

    def swap() -> None:
        while not stop.is_set():
            place.rename(spare)
            place.symlink_to(tmp_path / "outside")
            place.unlink()
            spare.rename(place)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[str] = set()
    try:
        for _ in range(100):
            try:
                seen |= {each.id for each in ToolpackLoader().load_dir(tmp_path / "packs")}
            except ToolpackValidationError as failure:
                seen |= {each.code for each in failure.violations}
    finally:
        stop.set()
        swapper.join()

    assert not any(each.startswith("evil") for each in seen)
    assert seen <= {f"good.t{number}" for number in range(8)} | {"outside-root", "no-file", "no-folder"}


@pytest.mark.req("TP-11")
def test_a_file_that_cannot_be_read_is_told_and_not_raised(tmp_path: Path) -> None:
    (tmp_path / "folder.tool.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.tool.yaml")
    deep = tmp_path
    for _ in range(34):
        deep /= "d"
    write(deep)

    found = [(each.file[:16], each.code) for each in violations(tmp_path)]

    assert found == [("d/d/d/d/d/d/d/d/", "too-deep"), ("pipe.tool.yaml", "no-file")]


@pytest.mark.req("TP-13", "D0-0b", "D0-3i")
def test_a_loaded_pack_is_of_the_exported_type(tmp_path: Path) -> None:
    write(tmp_path)

    pack = loaded(tmp_path)

    assert isinstance(pack, Toolpack)
    assert pack.folder == tmp_path.resolve()
    assert pack.beneath("x/y") == tmp_path.resolve() / "x/y"
    assert pack["timeoutMs"] == 2000
    with pytest.raises(KeyError):
        pack["timeout_ms"]


@pytest.mark.req("TP-3")
def test_places_lists_path_and_code(tmp_path: Path) -> None:
    write(tmp_path, {"limits": GONE})

    assert places(tmp_path) == [("limits", "missing-key")]
