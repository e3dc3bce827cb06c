"""What is recognised of the corpus: no less than was measured."""

from __future__ import annotations

import time

import pytest
from redaction_corpus import FORMATS, HELD_OUT_CLEAN, SEEN_CLEAN, held_out_samples, measured, seen_samples

from toolcrib_runtime.guards.secrets import Scrubber

SCRUB = Scrubber().scrub_text


def test_the_corpus_is_large_enough_to_say_something() -> None:
    samples = [*seen_samples(), *held_out_samples()]

    assert len({sample.text for sample in samples}) >= 400
    assert len({*SEEN_CLEAN, *HELD_OUT_CLEAN}) >= 500
    assert {sample.format for sample in samples} == set(FORMATS)
    assert {sample.format for sample in held_out_samples()} == set(FORMATS)


@pytest.mark.fault("F18")
def test_every_secret_that_the_patterns_were_written_for_is_taken_out() -> None:
    assert [sample.text for sample in measured(SCRUB, seen_samples(), ()).missed] == []


@pytest.mark.fault("F18")
def test_of_what_was_held_out_at_least_95_of_100_are_taken_out() -> None:
    assert measured(SCRUB, held_out_samples(), ()).recall >= 0.95


@pytest.mark.fault("F18")
def test_no_text_without_a_secret_is_changed() -> None:
    assert measured(SCRUB, (), [*SEEN_CLEAN, *HELD_OUT_CLEAN]).wrong == []


@pytest.mark.parametrize("name", list(FORMATS))
def test_the_figures_count_what_is_left_of_a_secret(name: str) -> None:
    """A scrubber that does nothing finds nothing, and one that takes everything is wrong every time."""
    samples = [sample for sample in seen_samples() if sample.format == name]

    nothing, everything = measured(str, samples, ["a"]), measured(lambda _: "", samples, ["a"])

    assert (nothing.recall, nothing.precision) == (0, 0)
    assert everything.recall == 1
    assert len(everything.wrong) == 1


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "password: ",
            "<apassword>a1",
            "login a password ",
            "auth=('",
            "A_KEY=",
            "A_KEY",
            "secret_key ",
            "\n  password: ",
        ),
        *("password=a.", "password=a_", "token=api_key", "password=$a", "password=/a.", "secret=>'", "://a:{"),
        *(
            "M1aaaaaaaaaaaaaaaaaaaaaaaa.",
            "12345678:AA",
            "1//0",
            "SG.aaaaaaaaaaaaaaaaa.",
            "aaa0Q~",
            "hvs.",
            "dapi",
            "key-",
        ),
        *("https://hooks.slack.com/services/", "authorization: basic ", "cookie=", "sshpass -p "),
    ],
)
def test_what_is_made_to_be_slow_takes_no_longer_than_its_length_allows(unit: str) -> None:
    text = unit * (500_000 // len(unit))

    start = time.process_time()
    SCRUB(text)

    # Measured at 0.9 s for the worst; a quadratic pattern takes minutes.
    assert time.process_time() - start < 5
