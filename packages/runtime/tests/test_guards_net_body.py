"""Packed bodies: bounded while they are unpacked, and refused when they are not what was asked for."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import answer, header_of, serving

from toolcrib_runtime.errors import MalformedOutput, OutputTooLarge
from toolcrib_runtime.guards.net.body import unpacked
from toolcrib_runtime.guards.net.client import GuardedClient
from toolcrib_runtime.guards.net.grant import NetGrant

LOCAL = NetGrant(allow_loopback=True)


def packed(body: bytes, encoding: str = "gzip") -> bytes:
    return answer("200 OK", f"Content-Encoding: {encoding}", body=body)


@pytest.mark.enable_socket
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
async def test_gzip_is_unpacked_and_what_comes_back_is_plain(encoding):
    async with serving(packed(gzip.compress(b"plain" * 1000), encoding)) as server, GuardedClient(LOCAL) as client:
        response = await client.fetch("GET", server.url())

    assert response.body == b"plain" * 1000
    assert not {"content-encoding", "content-length"} & set(response.headers)
    assert header_of(server.requests[0], "Accept-Encoding") == "gzip, identity"


@pytest.mark.fault("E8")
@pytest.mark.enable_socket
async def test_a_gzip_bomb_stops_at_the_limit_with_little_memory():
    bomb = gzip.compress(bytes(200 * 1024 * 1024), compresslevel=9)

    async with serving(packed(bomb), answer()) as server, GuardedClient(LOCAL) as client:
        tracemalloc.start()
        with pytest.raises(OutputTooLarge, match="1,000,000 bytes"):
            await client.fetch("GET", server.url(), max_bytes=1_000_000)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert peak < 8 * 1024 * 1024
        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.fault("E8")
@pytest.mark.enable_socket
@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "compress", "gzip, gzip", "gzip, br", "nonsense"])
async def test_an_encoding_that_was_not_asked_for_is_refused(encoding):
    async with serving(packed(b"whatever", encoding), answer()) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(MalformedOutput, match="was not asked for"):
            await client.fetch("GET", server.url())

        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.fault("E8")
@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(gzip.compress(b"cut off" * 100)[:-9], "stops before its end", id="cut off"),
        pytest.param(gzip.compress(b"cut off" * 100)[:5], "stops before its end", id="cut off in its header"),
        pytest.param(
            gzip.compress(b"1") + gzip.compress(b"2")[:-1], "stops before its end", id="second member cut off"
        ),
        pytest.param(b"not gzip at all", "is damaged", id="plain text"),
        pytest.param(zlib.compress(b"deflate"), "is damaged", id="deflate"),
        pytest.param(gzip.compress(b"1") + b"garbage", "is damaged", id="garbage at the end"),
        pytest.param(gzip.compress(b"checksum")[:-8] + bytes(8), "is damaged", id="wrong checksum"),
    ],
)
async def test_damaged_gzip_is_refused(body, fault):
    async with serving(packed(body), answer()) as server, GuardedClient(LOCAL) as client:
        with pytest.raises(MalformedOutput, match=fault):
            await client.fetch("GET", server.url())

        assert (await client.fetch("GET", server.url())).status == 200


@pytest.mark.enable_socket
async def test_no_body_needs_no_unpacking():
    async with serving(packed(b"")) as server, GuardedClient(LOCAL) as client:
        assert (await client.fetch("HEAD", server.url())).body == b""
        assert (await client.fetch("GET", server.url())).body == b""


@given(st.lists(st.binary(max_size=300_000), min_size=1, max_size=3), st.integers(1, 5000))
async def test_unpacking_gives_the_members_in_small_pieces_however_they_are_cut(members, size):
    data = b"".join(map(gzip.compress, members))

    pieces = [piece async for piece in unpacked(_cut(data, size))]

    assert b"".join(pieces) == b"".join(members)
    assert all(len(piece) <= 64 * 1024 for piece in pieces)


async def _cut(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
