"""A registry of tools: resolved by name and version, searched in words, and written down as JSON.

It prints:
    github:create_issue@2.0.0
    'open a bug' finds github:create_issue@2.0.0
    'mail bob' finds mail:send_message@1.0.0
    'boil an egg' finds nothing
    3 tools in 1728 bytes of JSON
"""

from __future__ import annotations

from toolcrib_core import ToolDefinition, ToolRisk, create_registry, is_deprecated, none_of, registry_json

TOOLS = [
    ToolDefinition(
        identity="github:create_issue@1.0.0",
        description="Create an issue in a repository.",
        lifecycle={"deprecated": True, "replaced_by": "github:create_issue@2.0.0"},
    ),
    ToolDefinition(
        identity="github:create_issue@2.0.0",
        description="Create an issue in a repository.",
        risk=ToolRisk(effects="write"),
    ),
    ToolDefinition(identity="mail:send_message@1.0.0", description="Send an e-mail to one or more people."),
]


def main() -> None:
    """Look tools up."""
    registry = create_registry(TOOLS, aliases={"issues:new": "github:create_issue"})
    print(registry.resolve("issues:new").id)
    for request in ("open a bug", "mail bob", "boil an egg"):
        hits = registry.search(request, limit=1, where=none_of(is_deprecated())).hits
        print(f"{request!r} finds {hits[0].id if hits else 'nothing'}")
    print(f"{len(registry.list())} tools in {len(registry_json(registry))} bytes of JSON")


if __name__ == "__main__":
    main()
