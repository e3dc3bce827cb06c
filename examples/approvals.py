"""A call that somebody has to approve: asked about, granted for these exact arguments, and good once.

It prints:
    action_required: Run `shop:refund@1.0.0` with the arguments `order`, `cents`.
    success: refunded 900 cents of order 7
    error: the approval is refused (spent)
"""

from __future__ import annotations

import asyncio

from toolcrib_runtime import Approvals, Decision, Policy, PolicyRequest, ToolCall, create_toolbox, tool

LIMIT = 500


@tool(namespace="shop", version="1.0.0", effects="write")
async def refund(order: int, cents: int) -> str:
    """Give money back for an order."""
    return f"refunded {cents} cents of order {order}"


def ask_above_the_limit(request: PolicyRequest) -> Decision | None:
    """A rule: what it returns is `allow`, `ask` or `deny`; nothing leaves the decision to the others."""
    cents = request.arguments.get("cents")
    return "ask" if isinstance(cents, int) and cents > LIMIT else None


async def main() -> None:
    """Ask, grant, run, and try the same approval again."""
    toolbox = create_toolbox(
        [refund], policy=Policy(rules=(ask_above_the_limit,)), approvals=Approvals(secret=b"keep this one secret")
    )
    call = ToolCall(tool="shop:refund", arguments={"order": 7, "cents": 900})
    waiting = await toolbox.execute(call)
    if waiting.action is None:
        raise SystemExit("Nobody was asked.")
    print(f"{waiting.outcome}: {waiting.action.summary}")

    # Whoever calls this decides: show the summary to a person first, and keep it out of the reach of models.
    approval = toolbox.grant(waiting.action, by="ann")
    for _ in range(2):
        result = await toolbox.execute(call._replace(approval=approval))
        refused = f"the approval is refused ({result.error.details['reason']})" if result.error else ""
        print(f"{result.outcome}: {refused or result.value}")


if __name__ == "__main__":
    asyncio.run(main())
