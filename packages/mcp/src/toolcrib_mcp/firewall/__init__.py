"""What a result is, and its bounded structural summary: pure functions without any reading or writing."""

from __future__ import annotations

from toolcrib_mcp.firewall.json_reading import MAX_JSON_VALUES, JsonFault, UnreadableJson, read_json
from toolcrib_mcp.firewall.kinds import ContentKind
from toolcrib_mcp.firewall.selectors import SELECTOR_TOKENS, selectors_for
from toolcrib_mcp.firewall.sniffing import content_kind
from toolcrib_mcp.firewall.summaries import SUMMARY_TOKENS, Summary, summarise
from toolcrib_mcp.firewall.tables import TableForm, table_form, table_rows

__all__ = [
    "MAX_JSON_VALUES",
    "SELECTOR_TOKENS",
    "SUMMARY_TOKENS",
    "ContentKind",
    "JsonFault",
    "Summary",
    "TableForm",
    "UnreadableJson",
    "content_kind",
    "read_json",
    "selectors_for",
    "summarise",
    "table_form",
    "table_rows",
]
