"""The English that tool names are made of: which words say what is done, and which say nothing about the topic."""

from __future__ import annotations


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


VERBS = _listed(
    """
    abort accept acknowledge activate add aggregate allow analyze append apply approve archive assign attach
    authenticate authorize browse build calculate call cancel change check choose cleanup clear click clone close
    compare complete compute configure confirm connect convert copy create deactivate decline decode decrypt define
    delete deny deploy describe destroy detach detect determine diagnose disable disconnect discover dismiss
    download drop duplicate edit enable encode encrypt end enqueue ensure estimate eval evaluate exec execute expire
    explain export extract fetch fill find finish follow format forward generate get grant handle identify import
    increment init initialize insert inspect install invite invoke join launch leave list load lock login logout
    lookup ls make manage mark migrate modify move mute navigate notify open optimize package parse patch pause
    perform ping play populate predict prepare preview process promote protect provision publish purge put query
    read rebase receive recommend refresh register reject reload remove rename render reopen reorder replace reply
    rerun reset resize resolve restart restore resume retrieve retry revert revoke rotate save scan screen search
    select send set share show simulate solve sort split start stop submit subscribe suggest summarize suspend
    switch sync take terminate toggle track transform translate trigger update upgrade upload upsert validate verify
    view wait write
    """
)
# Nouns as often as verbs: `merge_branch` and `order_refund` start with what is done, `order_get` does not.
SOMETIMES_VERBS = _listed(
    """
    ask audit backup batch block book bookmark cache charge comment commit control debug design draft drag embed
    emulate exercise filter flag fork group guide help hover index label link lint log map merge monitor note order
    pin place plan post press print pull push rank rate record report request review rollback rollout route run
    sample scale schedule score scroll secure star store stream summary tag tail target test trace transact transfer
    transition type undo use void vote watch
    """
)
# Names of things in which one word looks like a verb.
COMPOUNDS = frozenset({("merge", "request"), ("pull", "request")})
OPENERS = _listed("auto batch bulk multi")
CONJUNCTIONS = _listed("and or")
PREPOSITIONS = _listed("about after as at before by during for from in into of on onto over per to under via with")
QUALIFIERS = _listed(
    """
    a active all an any available current default each every existing id ids if last latest many multiple my new
    next only other own past previous recent related single some the this
    """
)
