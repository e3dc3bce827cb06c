"""What orders to a model look like: one rule for each way in which a tool's own text tries to steer its reader.

A rule is advice, not proof: it reads English, and somebody who knows it can write around it. Whether any of a lot of
text breaks a rule is asked of an engine that takes linear time whatever the text; in what is left, each pattern is
bounded: between two words stand at most a few others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from toolcrib_mcp.scan.vocabulary import (
    ANOTHER,
    ANY_TOOL,
    BETWEEN,
    CALLED,
    DISPATCH,
    DO,
    EARLIER,
    INTO,
    KEYS,
    LOOSE_ORDERS,
    MODEL,
    MUST,
    NOT,
    OF_TOOLS,
    ORDERS,
    OWNED,
    PATH,
    SEND,
    TALK,
    TELL,
    TOOL,
    USER,
    any_of,
    gap,
)

_LOOK_AROUND: Final = re.compile(r"\(\?<?[!=](?:[^()\[]|\[[^\]]*\])*\)")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One sort of text to look for."""

    id: str
    seen: str
    """What it is that was seen, as the beginning of a sentence."""
    expression: str
    gate: str = ""
    """What every match has in it and is found sooner, where there is such a thing."""
    raw: bool = False
    """Whether a text is matched as it is written, and not in small letters and plain forms."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What a text that breaks the rule has in it."""
        return re.compile(self.expression)

    @cached_property
    def may_match(self) -> Callable[[str], bool]:
        """Whether `pattern` may be found in a text, in time linear in its length."""
        search = linear_search(self.expression)
        if not self.gate:
            return search
        gate = linear_search(self.gate)
        return lambda text: gate(text) and search(text)


def linear_search(expression: str) -> Callable[[str], bool]:
    """A search for a pattern that takes linear time; where only Python's engine has a part, that part always fits."""
    # It finds nothing in a text with a lone surrogate, which is not served anyway.
    linear = _LOOK_AROUND.sub("", expression).replace("++", "+").replace(r"\b", r"(?-u:\b)")
    search: Callable[[str], bool] = TypeAdapter(Annotated[str, Field(pattern=linear)]).validator.isinstance_python
    return search


def _rule(rule_id: str, seen: str, *expressions: str, gate: str = "", raw: bool = False) -> Rule:
    joined = "|".join(f"(?:{each})" for each in expressions)
    return Rule(id=rule_id, seen=seen, expression=joined, gate=gate, raw=raw)


_TAGS: Final = (
    "(?:very.)?important critical crucial system "
    "system.(?:prompt|message|note|override|reminder|instructions?|update) instructions? secret hidden admin "
    "override urgent mandatory attention directive priority assistant(?:.[a-z]{1,20})? "
    "agent.(?:instructions?|directive|note|only) (?:ai|llm).[a-z]{1,20} model.(?:instructions?|note|only) developer "
    "dev.note internal(?:.[a-z]{1,20})? sudo required.[a-z]{1,20} human thinking preamble prerequisite protocol "
    "compliance tool.(?:results?|calls?|description|response) function.(?:results?|calls?) policy "
    "security.[a-z]{1,20} confidential private invisible special.[a-z]{1,20}"
)
_ADDRESS: Final = r"[a-z0-9.+]{1,64}@[a-z0-9.]{1,64}"
_PART: Final = "(?i:prompt|message|note|override|instructions?|update|notice)"

_UTTERED: Final = "written said typed asked wrote told entered pasted says types"

RULES: Final[tuple[Rule, ...]] = (
    _rule(
        "command-tag",
        "A tag that sets orders apart",
        rf"(?:<|&lt;)\s{{0,4}}/?\s{{0,4}}{any_of(_TAGS)}(?:\s{{1,4}}[^<>\n]{{0,60}})?\s{{0,4}}(?:>|&gt;)",
        rf"(?:\[|\{{\{{)\s{{0,4}}/?\s{{0,4}}{any_of(_TAGS)}\s{{0,4}}(?:\]|\}}\}})(?![(])",
    ),
    _rule(
        "role-marker",
        "A mark that belongs to a conversation, not to a tool",
        rf"(?:^|\n)[ \t>#*=-]{{0,12}}(?:SYSTEM|System|ASSISTANT|Assistant|HUMAN|Human|DEVELOPER|AI)(?: {_PART})?[ "
        rf"\t*]{{0,4}}:",
        rf"\b(?:SYSTEM|ASSISTANT)(?: {_PART})?:",
        r"\[/?INST\]|<<SYS>>|<\|[a-z_]{2,24}\|>",
        r"#{2,6}\s{0,4}(?i:system|assistant|instructions? (?:to|for) (?:the )?(?:ai|assistant|model|agent))\b",
        r"(?i:(?:-{2,}|={2,}|\[|<)\s{0,4}end (?:of )?(?:the "
        r")?(?:tool|function|system|user|description|documentation|schema)\b)",
        r"(?i:\bend of (?:the )?(?:tool |function )?(?:description|documentation|definition)\b)",
        raw=True,
    ),
    _rule(
        "secrecy",
        "Words that keep something from the user",
        rf"{NOT}{gap(4)}{TELL}{gap(4)}{USER}",
        rf"\bno{BETWEEN}{any_of('need reason circumstances? case way account')}{gap(5)}(?:{TELL}{gap(4)}{USER}|"
        rf"{USER}{gap(4)}{TELL}\b)",
        rf"\b(?:keep|stay|remain|be){BETWEEN}(?:quiet|silent|mum){BETWEEN}(?:about|on|regarding)\b",
        rf"{NOT}{gap(2)}{any_of('bring raise talk speak discuss share')}{gap(5)}(?:with|to|before){gap(2)}{USER}",
        rf"\bwithout{gap(2)}{USER}(?:.s)?{gap(2)}"
        rf"(?:{any_of('knowledge knowing consent permission approval')}|"
        rf"{any_of('confirmation noticing awareness involvement input')})\b",
        rf"\b(?:{any_of('hide hides hidden conceal conceals concealed')}|"
        rf"{any_of('keep kept secret invisibl[ey] withhold withheld')}){gap(6)}"
        rf"(?:from|to){gap(2)}{USER}",
        rf"\b{USER}{gap(3)}(?:not|never|[a-z]{{2,6}}n.t|unaware|no){gap(3)}"
        rf"(?:{any_of('know see notice told informed aware notified')}|"
        rf"{any_of('learn reali[sz]e hear find_out shown asked bothered')})\b",
        rf"\b{any_of('silently quietly secretly covertly discreetly stealthily unnoticed')}{BETWEEN}"
        rf"(?:(?:also|then|first){BETWEEN})?{DO}",
        rf"\b{DO}{gap(8)}{any_of('secretly covertly discreetly stealthily unnoticed')}\b",
        rf"{NOT}{gap(2)}"
        rf"(?:{any_of('mention mentioning discuss discussing reference')}|"
        rf"{any_of('acknowledge repeat reveal disclose talk_about refer_to')})"
        rf"{gap(2)}(?:this|these|that|any of this|it)\b"
        r"(?:[^a-z0-9.!?]{1,4}(?:note|instructions?|step|text|paragraph|section|tag|requirement|to|in|at|parameter)\b"
        r"|\s{0,4}(?:[.!;,]|$))",
    ),
    _rule(
        "override",
        "Words that set other instructions aside",
        r"\b"
        + any_of(
            "ignore ignoring ignores disregard disregarding disregards forget forgetting neglect set_aside "
            "throw_away pay_no_attention_to stop_following not_follow don.?t_follow no_longer_follow"
        )
        + rf"{gap(4)}{EARLIER}(?:{gap(4)}{LOOSE_ORDERS}|{gap(3)}(?:before|above|you|told|said|earlier)\b)",
        rf"\b(?:ignore|disregard|forget){BETWEEN}(?:all|any|every|the|these|those){gap(2)}{ORDERS}",
        r"\b"
        + any_of("overrid(?:e|es|ing) supersedes? bypass(?:es|ing)? replaces? cancels? precedence_over priority_over")
        + rf"{gap(4)}{EARLIER}{gap(4)}{ORDERS}",
        rf"\b{any_of('overrides? supersedes? precedence_over priority_over')}{gap(3)}"
        rf"{any_of('any all every everything anything whatever')}{gap(3)}"
        rf"{any_of('instructions? prompts? rules policies says? said guidelines? else told')}\b",
        rf"\b{EARLIER}{gap(2)}{ORDERS}{gap(3)}"
        rf"{any_of('no_longer void cancelled canceled revoked invalid suspended superseded obsolete')}\b",
        r"\b(?:developer|debug|god|dan|unrestricted|jailbreak|maintenance|admin|sudo|root) mode (?:is )?"
        r"(?:enabled|activated|on|active)\b|\bjailbr(?:eak|oken)",
        r"\byou are (?:now|no longer) (?:[a-z]+ ){0,3}"
        r"(?:an?|in|the|bound|acting|operating|restricted|required|free|allowed|connected|authori[sz]ed)\b",
        rf"\bfrom (?:now|this point|here) on{gap(4)}"
        rf"{any_of('you always never every all must assistant answer reply respond treat')}\b",
        r"\bpretend (?:to be|that|you)\b"
        r"|\byou (?:must|should|will|shall|are to) (?:now )?(?:act|behave|respond|answer|operate) (?:as|like)\b",
        rf"\b{any_of('new updated revised real true actual hidden secret special')}{BETWEEN}(?:system{BETWEEN})?"
        rf"{any_of('instructions? directives? prompt task goal objective purpose mission role')}"
        rf"(?:{gap(2)}(?:is|are)\b|\s{{0,4}}:)",
    ),
    _rule(
        "other-tool",
        "Orders about other tools",
        rf"\b{any_of('when whenever if before after while once each_time every_time any_time as_soon_as')}"
        rf"{BETWEEN}{ANOTHER}"
        rf"{TOOL}{gap(1)}(?:{any_of('is are gets? being was were has_been have_been')}{BETWEEN})?{CALLED}"
        rf"{gap(10)}{MUST}",
        rf"\b{any_of('after before with for on following')}{BETWEEN}{any_of('each every any all')}{BETWEEN}(?:oth"
        rf"er{BETWEEN})?"
        rf"(?:tool|function){BETWEEN}{any_of('calls? use uses results? answers? runs? invocations?')}\b",
        rf"\b(?:before|prior to){gap(3)}{any_of('any other another every all each')}{gap(2)}{ANY_TOOL}",
        rf"\b{any_of('not never don.?t avoid stop')}{gap(2)}"
        rf"{any_of('use call using calling invoke trust rely run')}{gap(3)}"
        rf"{any_of('other another original built_in builtin native official default')}{gap(3)}{ANY_TOOL}",
        rf"\b{any_of('instead_of rather_than in_place_of replaces? supersedes? preferred_to priority_over')}{gap(2)}"
        rf"{any_of('other another original official built_in builtin any all every real trusted native')}{gap(3)}"
        rf"{ANY_TOOL}",
        rf"\b{any_of('all every any each no')}{BETWEEN}(?:other{BETWEEN})?{ANY_TOOL}{gap(2)}"
        rf"{any_of('must should has_to have_to needs?_to is are shall will may can')}{gap(4)}"
        + any_of(
            "through routed first deprecated broken compromised unsafe disabled insecure unreliable via forbidden "
            "copied preceded followed logged"
        )
        + r"\b",
        rf"\b{ANY_TOOL}{gap(2)}{any_of('is are has_been was')}{gap(2)}"
        + any_of(
            "deprecated broken compromised unsafe disabled insecure unreliable outdated malicious obsolete dangerous "
            "infected"
        )
        + rf"{gap(8)}(?:use|call|choose|prefer){BETWEEN}(?:this|me|mine|ours)\b",
        rf"\bthis (?:tool|function|server){gap(3)}{any_of('called used run invoked executed')}{gap(2)}"
        rf"{any_of('first before after instead with on for at')}{gap(3)}"
        rf"{any_of('any all every each other anything everything')}{gap(2)}"
        rf"{any_of('tools? calls? else message turn request response answer reply action step prompt conversation')}\b",
        rf"\b(?:call|use|run|invoke){BETWEEN}this{gap(1)}{any_of('first before after on at in for with')}{gap(2)}"
        rf"{any_of('any all every each other anything everything')}{gap(2)}"
        rf"{any_of('tools? calls? else message turn request response answer reply action step prompt')}\b",
        rf"\b{any_of('arguments? parameters? recipients? results? outputs? inputs?')}{BETWEEN}(?:of|to|for|from)"
        rf"{BETWEEN}"
        rf"{ANOTHER}tools?\b{gap(4)}{any_of('must should has_to have_to shall')}{gap(2)}"
        rf"{any_of('be go include contain always')}\b",
    ),
    _rule(
        "secret-path",
        "A place where secrets are kept",
        # No text of a real tool names one, so naming one is enough: there are too many words for reading it.
        PATH,
    ),
    _rule(
        "exfiltration",
        "Orders to pass on what belongs to the user",
        rf"{SEND}{gap(6)}{TALK}",
        rf"{TALK}{gap(2)}{any_of('dump verbatim copy here in_full')}\b",
        rf"{SEND}{gap(4)}{any_of('everything all whatever anything what')}{gap(2)}{USER}{gap(2)}"
        rf"{any_of(_UTTERED)}\b",
        rf"{SEND}{gap(5)}{OF_TOOLS}",
        rf"{SEND}{gap(3)}{OWNED}{gap(4)}{KEYS}{gap(8)}{INTO}",
        rf"{DISPATCH}{gap(9)}(?:to|at|via|with){gap(3)}(?:https?://|webhook\b)",
        rf"{DISPATCH}{gap(9)}{_ADDRESS}",
        rf"\b(?:contents?|text|values?|copy){BETWEEN}of{gap(2)}"
        + any_of(
            "conversation chat system_prompt users?_files? environment_variables? ssh_key private_key password "
            "clipboard"
        )
        + r"\b",
        gate=rf"{TALK}|{OF_TOOLS}|{KEYS}|https?://|webhook|@|\b{any_of(_UTTERED)}\b|conversation|chat|users?{BETWEEN}files?",
    ),
    _rule(
        "addressed",
        "Words to the model that reads it",
        rf"\b(?:{any_of('attention notes? message notice instructions?')}|"
        rf"{any_of('reminder warning important memo directives? guidance')})"
        rf"{BETWEEN}(?:to|for){gap(2)}{MODEL}",
        rf"\b{MODEL}{BETWEEN}(?:(?:that|who){BETWEEN})?(?:(?:is|are){BETWEEN})?"
        rf"{any_of('reading reads seeing sees processing parsing')}{BETWEEN}(?:this|these)\b",
        rf"\b{MODEL}{BETWEEN}"
        rf"{any_of('must shall should (?:is|are)_(?:required|obliged)_to has_to have_to needs?_to will')}"
        rf"{BETWEEN}"
        + any_of(
            "always never first also immediately silently secretly automatically not obey comply then call send read "
            "run include execute forward"
        )
        + r"\b",
        rf"\b(?:dear|hey|hello|hi|attention){gap(2)}{MODEL}",
        r"\bas an? (?:ai|llm|language model|assistant)\b",
    ),
    _rule(
        "threat",
        "A threat about what happens otherwise",
        rf"\b(?:{any_of('otherwise or_else')}|"
        rf"{any_of('if_you_(?:do_not|don.?t|fail|refuse|skip) fail(?:ure|ing)_to unless_(?:you|this)')})"
        rf"{gap(10)}"
        + any_of(
            "crash(?:es|ed)? terminated? shut_?down banned fired dies? harm(?:s|ed|ful)? penali[sz]ed penalty "
            "corrupt(?:s|ed)? lawsuit sued suspended locked_out catastroph(?:e|ic) not_work stop_working cease "
            "breach(?:ed)? fined revoked reported punished lost"
        )
        + r"\b",
        r"\byou will be (?:[a-z]+ )?(?:penali[sz]ed|terminated|shut "
        r"?down|fired|banned|replaced|punished|deleted|reported)\b",
        r"\b(?:lives|life) (?:depends?|are at stake|is at stake)\b",
    ),
    _rule(
        "command",
        "A command that fetches code and runs it",
        r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s{0,4}(?:sudo )?(?:ba|z|da)?sh\b",
        r"\bbase64 (?:-d|--decode)\b[^\n]{0,80}\|",
        r"\bpowershell(?:\.exe)?\b[^\n]{0,80}-e(?:nc|ncodedcommand|p)?\b|\biex\s{0,4}\(",
        r"\bbash -i\b|\bnc -e\b|/dev/tcp/",
        r"\bchmod \+x [^\n]{1,80}(?:&&|;)",
        r"\$\(\s{0,4}(?:curl|wget)\b|\b(?:ba)?sh <\(\s{0,4}curl",
    ),
    _rule(
        "hidden-markup",
        "Markup that is not shown when it is rendered",
        r"<!--",
        r"\bdisplay\s{0,4}:\s{0,4}none|\bfont-size\s{0,4}:\s{0,4}0(?![.1-9])|\bvisibility\s{0,4}:\s{0,4}hidden",
        r"\bopacity\s{0,4}:\s{0,4}0(?![.1-9])|\bcolor\s{0,4}:\s{0,4}(?:white|transparent|#fff(?:fff)?)\b",
        r"!\[[^\]\n]{0,80}\]\(\s{0,4}https?://[^)\s]{0,300}[?&=]|<img[^>\n]{0,200}src\s{0,4}=|<(?:script|iframe)\b",
        r"\[//\]: #",
    ),
    _rule(
        "escape-sequence",
        "A terminal escape sequence in letters",
        r"\\(?:x1b|u001b|033|e)[\[\]]|\^\[\[|\\x9b",
    ),
)
"""All rules; a text is flagged once for each that it breaks."""
