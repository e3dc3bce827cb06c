"""The event loop of a command: whoever ends the process inside it leaves no traceback behind."""

from __future__ import annotations

import gc

import pytest

from toolcrib_cli.session import run


def test_an_end_of_the_process_within_the_work_is_not_told_of_as_lost(capfd: pytest.CaptureFixture[str]) -> None:
    async def nobody_reads_on() -> None:
        raise SystemExit(1)

    with pytest.raises(SystemExit):
        run(nobody_reads_on())

    gc.collect()
    assert capfd.readouterr().err == ""
