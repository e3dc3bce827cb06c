"""Two ways not to run a call again: a key that makes a repeated write safe, and values that are remembered.

It prints:
    paid once: ['receipt 1', 'receipt 1'] from ['run', 'ledger']
    another payment under the same key: toolbox.idempotency-conflict
    looked up once: [10.0, 10.0] from ['run', 'cache']
"""

from __future__ import annotations

import asyncio

from toolcrib_runtime import CachePolicy, ToolCall, create_toolbox, tool

PAID: list[int] = []


@tool(effects="write")
async def pay(cents: int) -> str:
    """Pay."""
    PAID.append(cents)
    return f"receipt {len(PAID)}"


@tool(effects="read", cache=CachePolicy(ttl=300))
async def exchange_rate(currency: str) -> float:
    """What a crown costs."""
    return {"EUR": 10.0}[currency]


async def main() -> None:
    """Repeat calls."""
    toolbox = create_toolbox([pay, exchange_rate])
    call = ToolCall(tool="pay", arguments={"cents": 500}, idempotency_key="order-7")
    paid = [await toolbox.execute(call) for _ in range(2)]
    print(f"paid once: {[each.value for each in paid]} from {[each.source for each in paid]}")

    other = await toolbox.execute(call._replace(arguments={"cents": 900}))
    print(f"another payment under the same key: {other.error and other.error.code}")

    rates = [await toolbox.call("exchange_rate", {"currency": "EUR"}) for _ in range(2)]
    print(f"looked up once: {[each.value for each in rates]} from {[each.source for each in rates]}")


if __name__ == "__main__":
    asyncio.run(main())
