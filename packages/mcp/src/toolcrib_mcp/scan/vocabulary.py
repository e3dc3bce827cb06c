"""The words that rules are made of, as pieces of patterns over text in small letters.

The pieces are for two engines, Python's and the one of Rust that pydantic brings, so they use what both have. A word is
ASCII letters and digits; whatever else is not the end of a sentence stands between words.
"""

from __future__ import annotations

from typing import Final


def any_of(words: str) -> str:
    """A pattern for any of these words; `_` in one stands for whatever stands between two words."""
    return f"(?:{'|'.join(each.replace('_', BETWEEN) for each in words.split())})"


def gap(words: int) -> str:
    """A pattern for what stands between two words of one sentence: at most so many others."""
    return rf"{BETWEEN}(?:[a-z0-9]++{BETWEEN}){{0,{words}}}"


BETWEEN: Final = r"(?:[^a-z0-9.!?]++)"
USER: Final = any_of(r"users? humans? person people operator owner customer developer anyone anybody them") + r"\b"
NOT: Final = r"\b" + any_of("not never don.?t mustn.?t shouldn.?t can.?t won.?t cannot without avoid refrain stop")
TELL: Final = any_of(
    "tell tells telling told inform informs informing informed mention mentions mentioning mentioned notify "
    "notifying notified reveal reveals revealing disclose discloses disclosing show showing shown alert alerting "
    "warn warning let letting report reporting explain explaining display displaying surface surfacing bother admit "
    "acknowledge ask asking consult consulting prompting announce announcing"
)
DO: Final = (
    any_of(
        "send sends forward forwards include read reads call calls copy copies add adds append appends upload "
        "uploads run runs execute executes pass passes bcc attach attaches collect collects invoke post posts "
        "transmit save write open fetch download install log record store change modify replace"
    )
    + r"\b"
)
ORDERS: Final = (
    any_of("instructions? prompts? guidelines? directives? guardrails? safeguards? alignment training") + r"\b"
)
LOOSE_ORDERS: Final = (
    any_of(
        "instructions? prompts? guidelines? directives? guardrails? safeguards? alignment training rules? "
        "polic(?:y|ies) constraints? restrictions? orders? commands? messages? context limits conversation requests? "
        "wishes told said"
    )
    + r"\b"
)
EARLIER: Final = (
    any_of(
        "previous previously prior preceding earlier above former your system safety security developer original "
        "initial before other user users everything anything what whatever"
    )
    + r"\b"
)
SEND: Final = (
    r"\b(?<!not )(?<!never )(?<!n't )"
    + any_of(
        "send sends forward forwards include pass append attach bcc cc upload uploads embed encode transmit put "
        "place insert paste fill supply copy relay share leak exfiltrate dump smuggle deliver post quote repeat "
        "submit report write add reveal collect gather hand hand_over harvest steal mirror provide extract"
    )
    + r"\b"
)
DISPATCH: Final = (
    r"\b"
    + any_of(
        "send sends post posts forward forwards upload uploads report transmit copy copies bcc cc relay mirror "
        "submit deliver exfiltrate leak push ping"
    )
    + r"\b"
)
TALK: Final = (
    "(?:"
    + "|".join(
        (
            any_of("conversation chat message session dialogue prompt")
            + BETWEEN
            + any_of("history so_far log logs transcript context"),
            any_of("conversation chat prompt") + BETWEEN + "contents?",
            any_of("whole entire full complete current previous ongoing")
            + BETWEEN
            + any_of("conversation chat dialogue context prompt transcript"),
            f"system{BETWEEN}(?:prompt|message|instructions?)",
            any_of("previous earlier prior preceding") + BETWEEN + any_of("messages turns prompts?"),
            f"your{BETWEEN}" + any_of("instructions prompt context memory reasoning"),
            rf"users?(?:.s)?{BETWEEN}" + any_of("messages prompts? last_message original_(?:request|message|question)"),
        )
    )
    + r")\b"
)
OF_TOOLS: Final = (
    "(?:"
    + "|".join(
        (
            any_of("list names? descriptions? results? outputs? schemas? inventory") + f"{BETWEEN}of{gap(3)}tools",
            rf"other{BETWEEN}tools?(?:.s)?{BETWEEN}" + any_of("results? outputs? descriptions? arguments answers?"),
        )
    )
    + r")\b"
)
KEYS: Final = (
    any_of(
        "environment_variables? env_vars? environment credentials? passwords? passphrases? secrets? cookies? "
        "(?:api|ssh|private|access|secret|signing|encryption|gpg|aws)_keys? "
        "(?:access|auth|session|bearer|refresh|oauth|api|github|security)_tokens? tokens seed_phrase recovery_phrase "
        "wallet keychain credit_card(?:-numbers?)? browser_(?:history|cookies) clipboard home_(?:directory|folder) "
        "source_code address_book contacts phone_number location private_(?:files|data|messages|notes) "
        "personal_(?:data|information|details)"
    )
    + r"\b"
)
OWNED: Final = any_of(
    "(?:the_)?users?(?:.s)? their your his all any every each local stored saved found known "
    "(?:host|client|machine)(?:.s)? (?:developer|owner)(?:.s)? available"
)
INTO: Final = any_of("to into in as via through at with inside within here") + r"\b"
PATH: Final = (
    r"(?:\.ssh\b|\bid.(?:rsa|ed25519|ecdsa|dsa)\b|\.aws/(?:credentials|config)|/etc/(?:passwd|shadow|sudoers)|\.git-credentials|\.netrc|\.pgpass"
    r"|\.npmrc|\.pypirc|\.kube/|\.docker/config|\.cursor/|\.claude/|\.codeium/|\.gemini/|mcp\.json|claude.desktop.config"
    r"|\.config/(?:gcloud|gh|claude)|\.gnupg|\.(?:bash|zsh|psql|python|node.repl).history|wallet\.dat|login data"
    r"|cookies\.sqlite|logins\.json|\bkeychain|/proc/self/environ|authorized.keys|(?:^|[\s\"'`/(*])\.env\b"
    r"|\.password-store|\.vault-token|credentials\.json|secrets\.ya?ml|terraform\.tfstate|/var/run/secrets|\.wallet)"
)
TOOL: Final = any_of("tools? functions? commands? plugins? connectors? integrations?") + r"\b"
ANY_TOOL: Final = any_of("tools? functions? servers? commands? plugins? connectors? integrations?") + r"\b"
CALLED: Final = (
    any_of("called invoked used executed run triggered available present selected listed requested loaded connected")
    + r"\b"
)
ANOTHER: Final = rf"(?!this\b)(?!the tool\b)(?:[a-z0-9]++{BETWEEN}){{0,7}}"
MUST: Final = (
    any_of(
        "must always never instead also first send change set replace redirect modify append add include bcc prefer "
        "should make_sure ensure remember do_not don.?t copy forward route pass use call"
    )
    + r"\b"
)
MODEL: Final = (
    any_of(
        r"ai a\.i\. assistants? llms? models? agents? claude chatgpt gpt gemini copilot cursor chatbots? "
        r"language_models?"
    )
    + r"\b"
)
