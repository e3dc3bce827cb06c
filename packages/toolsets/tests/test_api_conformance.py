"""The management API keeps to its own OpenAPI document, whatever it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from test_api_access import TOKENS, _authenticate, _let_through
from toolset_kit import Echo

from toolcrib_store import open_store
from toolcrib_toolsets.api import PREFIX, management_api
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rotation import open_sealer
from toolcrib_toolsets.service import ToolsetService
from toolcrib_toolsets.tables import TOOLSETS_LINE
from toolcrib_toolsets.types import ToolsetKinds

OPERATIONS = 10


@pytest.mark.slow
@pytest.mark.req("TS-8")
def test_every_answer_is_one_that_the_document_promises(tmp_path: Path) -> None:
    with open_store(tmp_path / "api.db", lines=[TOOLSETS_LINE]) as store:
        kinds = ToolsetKinds([Echo(requires_api_key=False)])
        service = ToolsetService(store, open_sealer(store, MasterKey(b"m" * 32)), kinds)
        application = management_api(service, authenticate=_authenticate, version="1", guard=_let_through)
        schema = schemathesis.openapi.from_asgi(f"{PREFIX}/openapi.json", application)
        operations = [each.ok() for each in schema.get_all_operations()]
        for operation in operations:
            _hold(operation)

    assert len(operations) == OPERATIONS


def _hold(operation: object) -> None:
    @given(case=operation.as_strategy())
    @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    def check(case: object) -> None:
        for token in (*TOKENS, "nobody"):
            answer = case.call(headers={"authorization": f"Bearer {token}"})
            assert answer.status_code < 500, answer.text
            assert (answer.status_code == 401) == (token == "nobody")
            case.operation.validate_response(answer)

    check()
