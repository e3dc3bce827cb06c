"""What stands in a policy file: rules, limits and budgets, as their author wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from toolcrib_runtime.policy.verdicts import Decision

RiskName: TypeAlias = Literal["none", "read", "write", "destructive", "unknown"]
"""What a rule may call the risk of a tool; `unknown` is a tool of which nobody has said what it does."""

Period: TypeAlias = Literal["second", "minute", "hour", "day"]
Aspect: TypeAlias = Literal["principal", "server", "tool"]
Default: TypeAlias = Literal["by-risk", "allow", "ask", "deny"]

Glob: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]
"""A pattern with `*`, `?` and `[…]`, in which upper and lower case differ."""

Calls: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000_000)]

SECONDS: Final[Mapping[Period, int]] = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}
"""How long a period is."""


def _as_tuple(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


class PolicyModel(BaseModel):
    """What all parts of a policy share: they do not change, know every key, and repeat no value in an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ScopeEntry(PolicyModel):
    """Which calls something is about: those that every pattern fits; a pattern that is not given fits all."""

    server: Glob | None = None
    """Over the name that the configuration gives the server."""
    tool: Glob | None = None
    """Over the name of the tool; with a `:`, over its id, with or without version or hash."""
    principal: Glob | None = None
    """Over who calls; whoever nobody asked is `local`."""


class RuleEntry(ScopeEntry):
    """What is to happen with some calls."""

    decision: Decision
    risk: Annotated[tuple[RiskName, ...], BeforeValidator(_as_tuple), Field(min_length=1)] | None = None
    """Only for tools of this risk, or of one of these."""
    reason: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    """For the model that is refused, and for the person who is asked."""


class CountEntry(ScopeEntry):
    """How many calls there may be in a time."""

    calls: Calls
    per: Period
    each: Annotated[tuple[Aspect, ...], BeforeValidator(_as_tuple)] = ("principal",)
    """Who has a count of their own; with an empty list all calls that fit share one."""


class PolicyDocument(PolicyModel):
    """A policy file."""

    version: Literal[1] = 1
    default: Default = "by-risk"
    """What happens with calls that no rule is about."""
    rule: tuple[RuleEntry, ...] = ()
    limit: tuple[CountEntry, ...] = ()
    """Rates: kept in memory, and refilled as time goes by."""
    budget: tuple[CountEntry, ...] = ()
    """Amounts: kept in the database, and whole again when the next period begins."""
