"""How starting servers are counted, and what a time-out says."""

from __future__ import annotations

import pytest

from toolcrib_mcp.errors import UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.upstreams import StartProgress, StartReport
from toolcrib_mcp.upstreams.failing import could_not_start, not_ready
from toolcrib_runtime.guards.secrets import Scrubber

pytestmark = pytest.mark.req("CL-18")


def test_starting_servers_are_counted_and_those_that_are_missing_are_named():
    progress = StartProgress(["git", "jira", "playwright"])
    before = str(progress)
    progress.note(StartReport(name="git"))
    one = str(progress)
    progress.note(StartReport(name="jira", error=UpstreamUnavailable("no")))
    progress.note(StartReport(name="playwright"))

    assert before == "0 of 3 ready, waiting for git, jira, playwright"
    assert one == "1 of 3 ready, waiting for jira, playwright"
    assert str(progress) == "2 of 3 ready, 1 failed"


def test_of_many_servers_only_some_are_named():
    progress = StartProgress(f"s{number}" for number in range(28))

    assert str(progress) == "0 of 28 ready, waiting for s0, s1, s2, s3, s4 and 23 more"


def test_a_start_that_times_out_names_the_limit_and_the_setting():
    late = UpstreamTimeout("The server did not answer.", details={"method": "initialize", "seconds": 12.5})

    failure = could_not_start("jira", late, scrubber=Scrubber(), start_timeout=30.0)

    assert failure.message == "The server `jira` did not answer `initialize` within 30 s (`startTimeout` of its entry)."
    assert failure.details["upstream"] == "jira"


def test_a_caller_that_does_not_wait_that_long_is_told_both_limits():
    failure = not_ready("jira", seconds=10.0, start_timeout=30.0)

    assert failure.message == "The server `jira` was not ready within 10 s."
    assert "Its start may take 30 s (`startTimeout` of its entry)" in str(failure.hint)
