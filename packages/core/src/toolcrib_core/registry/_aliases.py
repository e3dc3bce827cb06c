"""Following aliases: chains without cycles, and no longer than allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolcrib_core.errors import AliasCycle, AliasTooDeep
from toolcrib_core.registry._state import family_of


@dataclass(frozen=True, kw_only=True)
class Trail:
    """Where a request leads."""

    chain: tuple[str, ...]
    """The request, every alias it leads through, and what stands at the end."""
    demands: tuple[str, ...]
    """The links whose version or shape the tool must satisfy: the end, and each link that is an alias without it."""

    @property
    def family(self) -> str:
        """The `namespace:name` at the end."""
        return family_of(self.chain[-1])


def follow(target_of: Callable[[str], str | None], request: str, *, max_depth: int) -> Trail:
    """Follow aliases from a request to what is not an alias.

    An alias is looked up by the whole text of the request, or else by its `namespace:name`; then the version asked for
    must be satisfied by what the alias leads to.

    Raises:
        AliasCycle: The aliases lead back to one of themselves.
        AliasTooDeep: There are more hops than allowed.
    """
    chain, demands = [request], []
    while True:
        link = chain[-1]
        family, target = family_of(link), target_of(link)
        if target is None and link != family:
            target = target_of(family)
            demands.append(link)
        if target is None:
            return Trail(chain=tuple(chain), demands=tuple(demands))
        chain.append(target)
        if target in chain[:-1]:
            raise alias_cycle(chain)
        if len(chain) - 1 > max_depth:
            raise alias_too_deep(chain, max_depth)


def longest_lead(referrers_of: Callable[[str], Iterable[str] | None], alias: str, *, max_depth: int) -> tuple[str, ...]:
    """The longest chain of other aliases that leads to this one, first hop first; no longer than one over the limit.

    Aliases of `namespace:name@version` that lead here by `namespace:name` alone are not seen; `follow` limits them.
    """
    chains: tuple[tuple[str, ...], ...] = ((alias,),)
    for _ in range(max_depth + 1):
        longer = tuple((referrer, *chain) for chain in chains for referrer in sorted(referrers_of(chain[0]) or ()))
        if not longer:
            break
        chains = longer
    return chains[0][:-1]


def alias_cycle(chain: list[str]) -> AliasCycle:
    """The error for a chain whose last hop stood in it before."""
    return AliasCycle(
        f"The alias `{chain[0]}` would lead back to where it was: {_printed(chain)}.",
        hint="Point one of these aliases at a tool.",
        details={"chain": chain},
    )


def alias_too_deep(chain: list[str], max_depth: int) -> AliasTooDeep:
    """The error for a chain with too many hops."""
    return AliasTooDeep(
        f"The chain of aliases from `{chain[0]}` has more than {max_depth} hops: {_printed(chain)}.",
        hint="Point the first alias closer to the tool.",
        details={"chain": chain, "maxDepth": max_depth},
    )


def _printed(chain: list[str]) -> str:
    return " -> ".join(chain)
