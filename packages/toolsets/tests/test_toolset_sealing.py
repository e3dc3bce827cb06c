"""Sealed keys: what opens them, what does not, and that nothing shows them."""

from __future__ import annotations

import base64
import copy
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolset_kit import CANARY, KEY

from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.errors import (
    MasterKeyUnusable,
    OldSealFormat,
    SealingError,
    UnknownKeyId,
    UnsealingFailed,
    WrongMasterKey,
)
from toolcrib_toolsets.key_sources import find_master_key, previous_master_key, read_key_file, write_key_file
from toolcrib_toolsets.master_key import MasterKey, new_master_key, read_master_key
from toolcrib_toolsets.sealing import Place, Sealed, Sealer

MASTER = MasterKey(b"m" * 32)
SEALER = Sealer(MASTER)
PLACE = Place(row="row-1", owner="alice", toolset_type="echo", settings="none")


@pytest.mark.req("TS-5")
@given(
    st.text(min_size=1).filter(lambda text: text != "••••" and not any("\ud800" <= each <= "\udfff" for each in text))
)
def test_what_was_sealed_opens_as_it_was(text: str) -> None:
    sealed = SEALER.seal(Secret(text), PLACE)

    assert SEALER.unseal(sealed, PLACE).reveal() == text
    assert sealed.text.startswith(f"v1:{MASTER.id}:")


@pytest.mark.req("TS-5")
def test_two_seals_of_one_key_have_nothing_in_common() -> None:
    first, second = SEALER.seal(KEY, PLACE), SEALER.seal(KEY, PLACE)

    assert first.text != second.text
    assert first.salt != second.salt
    assert first.nonce != second.nonce


@pytest.mark.req("TS-5")
@pytest.mark.fault("H2")
@pytest.mark.parametrize(
    "elsewhere",
    [{"row": "row-2"}, {"owner": "bob"}, {"toolset_type": "http-api"}, {"settings": "other"}, {"field": "x"}],
    ids=lambda part: next(iter(part)),
)
def test_a_seal_opens_in_no_other_row_owner_type_settings_or_field(elsewhere: dict[str, str]) -> None:
    with pytest.raises(UnsealingFailed):
        SEALER.unseal(SEALER.seal(KEY, PLACE), replace(PLACE, **elsewhere))


@pytest.mark.req("TS-5")
@pytest.mark.fault("H2")
@given(part=st.sampled_from(["text", "salt", "nonce"]), data=st.data())
def test_a_seal_of_which_any_bit_was_turned_does_not_open(part: str, data: st.DataObject) -> None:
    sealed = SEALER.seal(KEY, PLACE)
    written: str = getattr(sealed, part)
    head, _, body = written.rpartition(":")
    raw = bytearray(base64.b64decode(body))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    turned = base64.b64encode(bytes(raw)).decode()
    changed = {part: f"{head}:{turned}" if head else turned}

    with pytest.raises(UnsealingFailed):
        SEALER.unseal(replace(sealed, **changed), PLACE)


@pytest.mark.fault("H2")
@pytest.mark.parametrize("text", ["", "!", "AAAA", "ü", "A" * 1_000_000])
@pytest.mark.parametrize("part", ["salt", "nonce", "body"])
def test_a_seal_with_anything_else_in_a_part_does_not_open(part: str, text: str) -> None:
    sealed = SEALER.seal(KEY, PLACE)
    changed = {"text": f"v1:{MASTER.id}:{text}"} if part == "body" else {part: text}

    with pytest.raises(UnsealingFailed):
        SEALER.unseal(replace(sealed, **changed), PLACE)


@pytest.mark.req("TS-5")
@pytest.mark.fault("H3")
def test_a_wrong_key_an_unknown_one_tampering_and_an_old_form_are_four_things() -> None:
    sealed = SEALER.seal(KEY, PLACE)
    other = MasterKey(b"n" * 32)

    with pytest.raises(WrongMasterKey):
        Sealer(other, known=[MASTER.id, other.id]).unseal(sealed, PLACE)
    with pytest.raises(UnknownKeyId):
        Sealer(other, known=[other.id]).unseal(sealed, PLACE)
    with pytest.raises(UnsealingFailed):
        SEALER.unseal(replace(sealed, salt=SEALER.seal(KEY, PLACE).salt), PLACE)
    for old in ("v0:abc:def", "plain", "", "v1:onlyone", f"v2:{MASTER.id}:AAAA"):
        with pytest.raises(OldSealFormat):
            SEALER.unseal(Sealed(text=old, salt="", nonce=""), PLACE)


@pytest.mark.req("TS-5", "TS-11")
@pytest.mark.fault("H5")
def test_neither_key_nor_master_key_is_seen_in_anything_that_holds_one() -> None:
    sealed = SEALER.seal(KEY, PLACE)
    shown = [repr(each) for each in (MASTER, SEALER, sealed, KEY, vars(SEALER))] + [str(MASTER), f"{MASTER}"]

    for text in shown:
        assert CANARY not in text
        assert "mmmm" not in text
    with pytest.raises(TypeError):
        pickle.dumps(MASTER)
    with pytest.raises(AttributeError):
        MASTER.id = "other"
    assert copy.copy(KEY) is KEY


@pytest.mark.req("TS-5")
def test_a_key_that_was_made_here_and_a_passphrase_are_master_keys() -> None:
    made, phrase = new_master_key(), Secret("correct horse battery staple 12")

    assert read_master_key(made, source="test").id == read_master_key(made, source="test").id
    assert read_master_key(phrase, source="test").id == read_master_key(phrase, source="test").id
    assert len({read_master_key(new_master_key(), source="test").id for _ in range(5)}) == 5


@pytest.mark.req("TS-5")
@pytest.mark.fault("H3")
@pytest.mark.parametrize(
    "text",
    [
        "short",
        "a" * 40,
        "your-strong-encryption-key-here",
        "CHANGE_ME_CHANGE_ME_CHANGE_ME",
        "<your master key goes here>",
        "tcmk_tooshort-to-be-whole",
    ],
)
def test_a_short_simple_or_placeholder_master_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(MasterKeyUnusable) as caught:
        read_master_key(Secret(text), source="$TOOLCRIB_MASTER_KEY")

    assert text not in str(caught.value)
    assert "init-key" in str(caught.value)


@pytest.mark.req("TS-5")
def test_a_key_file_is_private_and_an_open_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "master.key"
    write_key_file(file)

    assert file.stat().st_mode & 0o777 == 0o600
    assert find_master_key({"TOOLCRIB_MASTER_KEY_FILE": str(file)}).id == find_master_key({}, file=file).id
    with pytest.raises(MasterKeyUnusable, match="there already"):
        write_key_file(file)
    file.chmod(0o640)
    with pytest.raises(MasterKeyUnusable, match="chmod 600"):
        read_key_file(file)


@pytest.mark.fault("H3")
def test_a_key_file_that_is_none_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").touch(0o600)
    (tmp_path / "large").write_bytes(b"x" * 10_000)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for each in ("empty", "large", "binary"):
        (tmp_path / each).chmod(0o600)

    for name in ("missing", "empty", "large", "binary", "folder", "link"):
        with pytest.raises(MasterKeyUnusable, match=f"`{name}`"):
            read_key_file(tmp_path / name)


@pytest.mark.fault("H3")
def test_without_any_master_key_one_sentence_says_what_to_do() -> None:
    with pytest.raises(MasterKeyUnusable, match="There is no master key") as caught:
        find_master_key({})

    assert "TOOLCRIB_MASTER_KEY" in str(caught.value.hint)


@pytest.mark.req("TS-5")
def test_the_environment_gives_the_key_and_the_one_before() -> None:
    text = new_master_key().reveal()

    assert find_master_key({"TOOLCRIB_MASTER_KEY": text}) is not None
    assert previous_master_key({}) is None
    before = previous_master_key({"TOOLCRIB_PREVIOUS_MASTER_KEY": text})
    assert before is not None
    assert before.id == find_master_key({"TOOLCRIB_MASTER_KEY": text}).id
    with pytest.raises(SealingError):
        find_master_key({"TOOLCRIB_MASTER_KEY": "••••"})


@pytest.mark.req("TS-5")
def test_the_keyring_gives_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backend import KeyringBackend
    from keyring.errors import KeyringLocked

    kept = {"master-key": new_master_key().reveal()}

    class InMemory(KeyringBackend):
        priority = 1.0  # type: ignore[assignment]  # a class property of the library

        def get_password(self, service: str, username: str) -> str | None:
            if kept is locked:
                raise KeyringLocked
            return kept.get(username)

        def set_password(self, service: str, username: str, password: str) -> None:
            kept[username] = password

    locked: dict[str, str] = {}
    before = keyring.get_keyring()
    keyring.set_keyring(InMemory())
    try:
        assert find_master_key({}, keyring=True).id
        kept.clear()
        with pytest.raises(MasterKeyUnusable, match="no master key"):
            find_master_key({}, keyring=True)
        kept = locked
        with pytest.raises(MasterKeyUnusable, match="KeyringLocked"):
            find_master_key({}, keyring=True)
    finally:
        keyring.set_keyring(before)
