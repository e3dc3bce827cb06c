"""Runs one peer's retriever inside its own environment: a job as JSON on stdin, its rankings and times on stdout.

It imports nothing of ours, and each peer's package only when that peer is asked for.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TypeAlias

Tool: TypeAlias = dict[str, Any]
Retriever: TypeAlias = Callable[[str, int], list[int]]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-./:]+")


def split_identifiers(text: str) -> str:
    """`createIssue_v2` as words, which none of the general engines does by itself."""
    return _CAMEL.sub(" ", text)


def full_text(tool: Tool) -> str:
    """Everything a tool says, identifiers split: the best case for an engine without fields."""
    described = " ".join(f"{name} {text}" for name, text in tool["parameters"].items())
    return split_identifiers(f"{tool['namespace']} {tool['name']} {tool['description']} {described}")


def fts5(tools: list[Tool]) -> Retriever:
    """SQLite's full-text search with Porter stemming."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE tools USING fts5(body, tokenize='porter unicode61')")
    base.executemany(
        "INSERT INTO tools(rowid, body) VALUES (?, ?)", [(at, full_text(tool)) for at, tool in enumerate(tools)]
    )

    def retrieve(query: str, depth: int) -> list[int]:
        words = dict.fromkeys(re.findall(r"\w+", split_identifiers(query).lower()))
        wanted = " OR ".join(f'"{word}"' for word in words)
        found = base.execute(
            "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY rank LIMIT ?", (wanted or '""', depth)
        )
        return [row for (row,) in found]

    return retrieve


def bm25s(tools: list[Tool]) -> Retriever:
    """bm25s with its English stop words and the Snowball stemmer."""
    import bm25s as engine
    from Stemmer import Stemmer

    stemmer = Stemmer("english")
    index = engine.BM25()
    texts = [full_text(tool) for tool in tools]
    index.index(engine.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def retrieve(query: str, depth: int) -> list[int]:
        tokens = engine.tokenize([split_identifiers(query)], stopwords="en", stemmer=stemmer, show_progress=False)
        rows, scores = index.retrieve(tokens, k=min(depth, len(tools)), show_progress=False)
        return [int(row) for row, score in zip(rows[0], scores[0], strict=True) if score > 0]

    return retrieve


def rank_bm25(tools: list[Tool]) -> Retriever:
    """rank-bm25 on lower-case words."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([full_text(tool).lower().split() for tool in tools])

    def retrieve(query: str, depth: int) -> list[int]:
        scores = index.get_scores(split_identifiers(query).lower().split())
        order = sorted(range(len(tools)), key=lambda row: -scores[row])
        return [row for row in order[:depth] if scores[row] > 0]

    return retrieve


def tantivy(tools: list[Tool]) -> Retriever:
    """Tantivy with its English stemmer."""
    import tantivy as engine

    builder = engine.SchemaBuilder()
    builder.add_integer_field("row", stored=True)
    builder.add_text_field("body", tokenizer_name="en_stem")
    index = engine.Index(builder.build())
    writer = index.writer()
    for at, tool in enumerate(tools):
        writer.add_document(engine.Document(row=at, body=full_text(tool)))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def retrieve(query: str, depth: int) -> list[int]:
        words = re.findall(r"\w+", split_identifiers(query))
        parsed, _ = index.parse_query_lenient(" ".join(words), ["body"])
        return [searcher.doc(address)["row"][0] for _, address in searcher.search(parsed, depth).hits]

    return retrieve


def fastmcp(tools: list[Tool]) -> Retriever:
    """The index behind FastMCP's BM25SearchTransform, with the server as prefix of the name."""
    from fastmcp.server.transforms.search.bm25 import _BM25Index

    def text(tool: Tool) -> str:
        described = " ".join(f"{name} {prose}".strip() for name, prose in tool["parameters"].items())
        return f"{tool['namespace']}_{tool['name']} {tool['description']} {described}"

    index = _BM25Index()
    index.build([text(tool) for tool in tools])
    return lambda query, depth: list(index.query(query, depth))


def contextweaver(tools: list[Tool]) -> Retriever:
    """The Router of contextweaver with its defaults."""
    from contextweaver.routing.router import Router
    from contextweaver.routing.tree import TreeBuilder
    from contextweaver.types import SelectableItem

    row_of: dict[str, int] = {}
    for at, tool in enumerate(tools):
        # Its tree is made from the ids, so they are the natural ones; a number only where one is taken.
        natural = f"{tool['namespace']}.{tool['name']}" if tool["namespace"] else tool["name"]
        row_of[natural if natural not in row_of else f"{natural}.{at}"] = at
    items = [
        SelectableItem(
            id=item_id,
            kind="tool",
            name=tools[at]["name"],
            description=tools[at]["description"],
            namespace=tools[at]["namespace"],
            args_schema={"properties": {name: {"description": text} for name, text in tools[at]["parameters"].items()}},
        )
        for item_id, at in row_of.items()
    ]
    router = Router(TreeBuilder().build(items), items=items, top_k=10)
    return lambda query, depth: [row_of[each] for each in router.route(query).candidate_ids[:depth]]


RETRIEVERS: dict[str, Callable[[list[Tool]], Retriever]] = {
    "fts5": fts5,
    "bm25s": bm25s,
    "rank-bm25": rank_bm25,
    "tantivy": tantivy,
    "fastmcp": fastmcp,
    "contextweaver": contextweaver,
}


def main() -> None:
    """Build, ask every query, print."""
    name = sys.argv[1]
    job = json.load(sys.stdin)
    started = time.process_time()
    retrieve = RETRIEVERS[name](job["tools"])
    built = time.process_time() - started
    rankings, seconds = [], []
    for query in job["queries"]:
        started = time.process_time()
        rankings.append(retrieve(query, job["depth"]))
        seconds.append(time.process_time() - started)
    found = sqlite3.sqlite_version if name == "fts5" else version(name)
    json.dump({"version": found, "rankings": rankings, "build": built, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
