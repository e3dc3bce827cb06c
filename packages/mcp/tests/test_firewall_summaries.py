from __future__ import annotations

import firewall_samples as samples
import pytest
from inline_snapshot import snapshot

from toolcrib_mcp.firewall import SUMMARY_TOKENS, Summary, content_kind, summarise

pytestmark = pytest.mark.req("GW-4.5", "GW-7.3")


def summary(content: bytes, *, budget: int = SUMMARY_TOKENS, media_type: str | None = None) -> Summary:
    return summarise(content, content_kind(content, media_type), media_type=media_type, budget=budget)


def text(content: bytes, *, budget: int = SUMMARY_TOKENS, media_type: str | None = None) -> str:
    return summary(content, budget=budget, media_type=media_type).text


def test_records_by_their_fields_and_first_rows():
    assert text(samples.issue_list()) == snapshot("""\
240 records with 10 fields, 49,806 bytes of JSON.
Fields:
id integer 4000…4239, all distinct
title string 37 distinct, e.g. "Part 0 of the parser is slow"
state string "closed" 180, "open" 60
comments integer 0…10, 11 distinct
created_at string 2024-01-01T08:00:00Z…2024-12-28T08:00:00Z
assignee object {login, id}, 67 % null
labels list of 0…2 items
score number 0.0…29.875, all distinct
locked boolean true 5, false 235
milestone string always "1.0", 90 % absent
First rows, values in the order of the fields:
/0 4000 | "Part 0 of the parser is slow" | "open" | 0 | "2024-01-01T08:00:00Z" | {2 keys} | [] | 0.0 | true | "1.0"
… 239 more rows\
""")


def test_facts_about_records():
    assert summary(samples.issue_list()).facts == snapshot(
        {
            "rows": 240,
            "columns": [
                {"name": "id", "type": "integer"},
                {"name": "title", "type": "string"},
                {"name": "state", "type": "string"},
                {"name": "comments", "type": "integer"},
                {"name": "created_at", "type": "string"},
                {"name": "assignee", "type": "object"},
                {"name": "labels", "type": "list"},
                {"name": "score", "type": "number"},
                {"name": "locked", "type": "boolean"},
                {"name": "milestone", "type": "string"},
            ],
            "columnCount": 10,
            "bytes": 49806,
        }
    )


def test_records_in_a_small_budget_name_the_fields_that_have_no_room():
    assert text(samples.issue_list(), budget=120) == snapshot("""\
240 records with 10 fields, 49,806 bytes of JSON.
Fields:
id integer 4000…4239, all distinct
title string 37 distinct, e.g. "Part 0 of the parser is slow"
state string "closed" 180, "open" 60
comments integer 0…10, 11 distinct
… 6 more fields: created_at, assignee, labels, score, locked, milestone\
""")


def test_an_api_answer_by_its_keys_and_the_fields_of_its_list():
    assert text(samples.search_answer()) == snapshot("""\
JSON object with 5 keys, 12,558 bytes.
/total_count 1204
/incomplete_results false
/query object of 2 keys {text, page}
/items list of 60 objects {id, title, state, comments, created_at, assignee, …}, 11,237 bytes
/next "https://api.example.com/search?page=2"
Fields of /items:
id integer 4000…4059, all distinct
title string 37 distinct, e.g. "Part 0 of the parser is slow"
state string "closed" 45, "open" 15
comments integer 0…10, 11 distinct
created_at string 2024-01-01T08:00:00Z…2024-12-24T08:00:00Z
assignee object {login, id}, 67 % null
labels list of 0…2 items
score number 0.0…7.375, all distinct
locked boolean true 2, false 58
milestone string always "1.0", 90 % absent\
""")


def test_facts_about_an_api_answer():
    assert summary(samples.search_answer()).facts == snapshot(
        {
            "type": "object",
            "keys": ["total_count", "incomplete_results", "query", "items", "next"],
            "keyCount": 5,
            "bytes": 12558,
            "largest": [
                {"pointer": "/items", "type": "list", "bytes": 11237, "items": 60},
                {"pointer": "/items/30", "type": "object", "bytes": 210, "items": 10},
            ],
            "rowsAt": "/items",
            "rows": 60,
            "columnCount": 10,
            "columns": [
                {"name": "id", "type": "integer"},
                {"name": "title", "type": "string"},
                {"name": "state", "type": "string"},
                {"name": "comments", "type": "integer"},
                {"name": "created_at", "type": "string"},
                {"name": "assignee", "type": "object"},
                {"name": "labels", "type": "list"},
                {"name": "score", "type": "number"},
                {"name": "locked", "type": "boolean"},
                {"name": "milestone", "type": "string"},
            ],
        }
    )


def test_an_object_by_its_keys_and_its_largest_branches():
    assert text(samples.deployment()) == snapshot("""\
JSON object with 5 keys, 2,091 bytes.
/kind "Deployment"
/spec object of 2 keys {replicas, template}, 1,035 bytes
/status object of 2 keys {ready, conditions}, 90 bytes
/notes "Rolled back twice.\\nRolled back twice.\\nRolled back twice.\\nRol"… 760 characters
/paused null
Largest inside:
/spec/template object of 2 keys {containers, volumes}, 1,009 bytes
/spec/template/containers list of 1 object {name, image, env}, 850 bytes
/spec/template/containers/0 object of 3 keys {name, image, env}, 848 bytes
/spec/template/containers/0/env object of 30 keys {KEY_0, KEY_1, KEY_2, KEY_3, KEY_4, KEY_5, …}, 786 bytes
/spec/template/volumes list of 4 objects {name, path}, 133 bytes\
""")


def test_a_table_by_its_columns_and_first_rows():
    assert text(samples.orders()) == snapshot("""\
CSV table: 800 rows, 6 columns, 37,238 bytes.
Columns:
order integer 1…800, all distinct
placed string 2023-05-01…2023-05-31
customer string 211 distinct, e.g. "Customer 0, Ltd"
country string "DE" 200, "FR" 200, "IN" 200, "US" 200
total number 0.00…998.75, all distinct
note string always "said \\"soon\\",\\nthen nothing", 99 % empty
First rows:
1 | 2023-05-01 | Customer 0, Ltd | DE | 0.00 | said "soon",\\nthen nothing
2 | 2023-05-02 | Customer 1, Ltd | FR | 1.25 |
3 | 2023-05-03 | Customer 2, Ltd | IN | 2.50 |
4 | 2023-05-04 | Customer 3, Ltd | US | 3.75 |
5 | 2023-05-05 | Customer 4, Ltd | DE | 5.00 |
6 | 2023-05-06 | Customer 5, Ltd | FR | 6.25 |
… 794 more rows\
""")


def test_facts_about_a_table():
    assert summary(samples.orders()).facts == snapshot(
        {
            "rows": 800,
            "columns": [
                {"name": "order", "type": "integer"},
                {"name": "placed", "type": "string"},
                {"name": "customer", "type": "string"},
                {"name": "country", "type": "string"},
                {"name": "total", "type": "number"},
                {"name": "note", "type": "string"},
            ],
            "columnCount": 6,
            "delimiter": ",",
            "header": True,
            "ragged": 0,
            "bytes": 37238,
        }
    )


def test_a_log_by_levels_errors_repeated_messages_and_edges():
    assert text(samples.service_log()) == snapshot("""\
Log of 2,013 lines, 148,924 bytes, 2024-05-01 12:00:00,000 to 2024-05-01 12:33:19,999.
Levels: ERROR 2, WARN 5, INFO 2,000.
First and last error:
703 2024-05-01 12:11:40,700 ERROR [worker-1] order 700 failed: Timeout after 30 s
1509 2024-05-01 12:25:00,500 ERROR [worker-1] order 1500 failed: Timeout after 30 s
Repeated:
2,000x [worker-#] handled GET /orders/# in # ms (first: 1)
5x [pool] connection # was idle for # s (first: 401)
2x [worker-#] order # failed: Timeout after # s (first: 703)
… 3 more repeated messages
First lines:
1 2024-05-01 12:00:00,000 INFO [worker-0] handled GET /orders/0 in 0 ms
Last lines:
2013 2024-05-01 12:33:19,999 WARNING [pool] connection 7cff was idle for 300 s\
""")


def test_facts_about_a_log():
    assert summary(samples.service_log()).facts == snapshot(
        {
            "lines": 2013,
            "levels": {"ERROR": 2, "WARN": 5, "INFO": 2000},
            "from": "2024-05-01 12:00:00,000",
            "to": "2024-05-01 12:33:19,999",
            "firstError": 703,
            "bytes": 148924,
        }
    )


def test_an_access_log_by_its_statuses():
    assert text(samples.access_log(), budget=150) == snapshot("""\
Log of 300 lines, 27,151 bytes, 10/Oct/2023:13:00:36 +0000 to 10/Oct/2023:13:59:36 +0000.
Statuses: 2xx 150, 3xx 50, 4xx 50, 5xx 50.
Repeated:
300x "GET /item/# HTTP/#.#" # # "-" "curl/#.#" (first: 1)\
""")


def test_json_lines_are_a_log():
    assert text(samples.json_lines(), budget=150) == snapshot("""\
Log of 50 lines, 3,590 bytes, 2024-05-01T12:00:00Z to 2024-05-01T12:00:49Z.
Levels: ERROR 1, INFO 49.
The error:
34 {"time": "2024-05-01T12:00:33Z", "level": "error", "msg": "job 33 done"}
Repeated:
50x job # done (first: 1)
First lines:
1 {"time": "2024-05-01T12:00:00Z", "level": "info", "msg": "job 0 done"}\
""")


def test_source_text_by_its_definitions():
    assert text(samples.PYTHON) == snapshot('''\
Python source, 28 lines, 601 bytes.
Definitions:
11 class OrderFile:
14   def __init__(self, path: Path) -> None:
17   def read(self, *, limit: int = LIMIT) -> list[dict[str, object]]:
23 async def total(orders: list[dict[str, object]]) -> float:
27 def main() -> None:
First lines:
1 """Reads orders."""
3 from __future__ import annotations
5 import json
6 from pathlib import Path
8 LIMIT = 20
11 class OrderFile:\
''')


def test_go_source_by_its_definitions():
    assert text(samples.GO) == snapshot("""\
Go source, 21 lines, 223 bytes.
Definitions:
7 type Order struct
11 func (o *Order) Total(rate float64) float64
19 func main()
First lines:
1 package main
3 import (
4   "fmt"
5 )
7 type Order struct {
8   ID int\
""")


def test_a_diff_by_its_files():
    assert text(samples.DIFF) == snapshot("""\
Diff of 2 files, +2 -1, 16 lines, 295 bytes.
Files:
4 src/app.py +1 -1
13 README.md +1 -0\
""")


def test_yaml_by_its_top_level_keys():
    assert text(samples.YAML) == snapshot("""\
YAML, 12 lines, 195 bytes.
Top-level keys:
2 version: 3
3 services:
10 volumes:
First lines:
1 # How the service runs
2 version: 3
3 services:
4   api:
5     image: registry.example.com/api
6     ports:\
""")


def test_a_page_by_its_headings_without_what_is_hidden():
    assert text(samples.HTML) == snapshot("""\
HTML page “Orders & returns”, 13 lines, 469 bytes, 2 links, 1 table, 1 script.
Headings:
7 # Orders
9 ## How to return
11 ## Refunds
Text begins:
Home Help Orders Every order can be returned within 30 days. How to return 1 Pack it Refunds Refunds take five days.\
""")


def test_xml_by_its_elements():
    assert text(samples.XML) == snapshot("""\
XML, root <rss>, 5 lines, 255 bytes, 5 kinds of elements.
Elements:
<title> 3
<item> 2
<link> 2
<channel> 1
<rss> 1
Text begins:
News of the parser First https://example.com/1 Second https://example.com/2\
""")


def test_markdown_by_its_headings_without_those_in_code():
    assert text(samples.MARKDOWN) == snapshot("""\
Markdown, 26 lines, 277 bytes, 5 headings, 1 link, 1 code block.
Headings:
1 # Parser
5 ## Install
12 ## Use
17 ### Errors
23 # Changes
Text begins:
Reads what others write. See the [guide](https://example.com/guide).\
""")


def test_prose_by_its_first_sentences():
    assert text(samples.PROSE) == snapshot("""\
Text of 4 paragraphs, 7 lines, 58 words, 327 bytes.
Paragraphs begin:
1 The harbour was quiet when the ferry came in.
3 She walked up the hill without looking back!
5 In the evening the wind turned.
7 “Tomorrow,” he said.\
""")


def test_a_report_by_its_headings():
    assert text(samples.REPORT) == snapshot("""\
Text of 6 paragraphs, 11 lines, 31 words, 189 bytes.
Headings, it seems:
1 Annual report
5 Results
9 Outlook
Paragraphs begin:
3 The year was better than the one before.
7 Revenue grew by four per cent.
11 We expect nothing unusual.\
""")


def test_plain_lines_by_their_edges():
    assert text(samples.LISTING, budget=100) == snapshot("""\
Text of 400 lines, 400 words, 10,799 bytes.
First lines:
1 ./src/module_000/part_0.py
2 ./src/module_001/part_1.py
3 ./src/module_002/part_2.py
4 ./src/module_003/part_3.py
Last lines:
399 ./src/module_398/part_6.py
400 ./src/module_399/part_0.py\
""")


def test_json_that_was_cut_off_by_the_fields_of_its_whole_objects():
    assert text(samples.issue_list()[:9_000], budget=110) == snapshot("""\
JSON text, not valid JSON, 1 line, 9,000 bytes.
A list of objects; fields of the first 43:
id integer 4000…4042, all distinct
… 9 more fields: title, state, comments, created_at, assignee, labels, score, locked, milestone
It ends:
…ed": false}, {"id": 4043, "title": "Part 6 of the parser is slow", "state": "closed", "comments": 10\
""")
