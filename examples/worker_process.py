"""Work that keeps a core busy, in warm worker processes: the loop stays free, and a call is stopped for certain.

It prints:
    [9592, 78498]
    timeout: the process was killed
"""

from __future__ import annotations

import asyncio

from toolcrib_runtime import ProcessExecutor, create_toolbox, tool


@tool(namespace="maths", effects="none")
def count_primes(below: int) -> int:
    """How many primes there are below a number."""
    sieve = bytearray([1]) * below
    for number in range(2, int(below**0.5) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, below, number)))
    return sum(sieve) - 2


@tool(namespace="maths", effects="none")
def loop_forever() -> None:
    """Never end."""
    while True:
        pass


async def main() -> None:
    """Count in two processes at once, then stop one that does not end."""
    executor = ProcessExecutor(workers=2)
    toolbox = create_toolbox([count_primes, loop_forever], executor=executor)
    counted = await asyncio.gather(
        *(toolbox.call("maths:count_primes", {"below": size}) for size in (100_000, 1_000_000))
    )
    print([result.value for result in counted])

    stopped = await toolbox.call("maths:loop_forever", timeout=0.2)
    print(f"{stopped.error and stopped.error.category}: the process was killed")
    await executor.aclose()


if __name__ == "__main__":
    asyncio.run(main())
