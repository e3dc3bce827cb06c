"""The provider-neutral contract of toolcrib: definitions, identity, registry, cards, errors, serialization.

Nothing here runs a tool, opens a connection or starts a process. A name is loaded when it is first used, so that
importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_core.calls import ToolCall
    from toolcrib_core.cards import (
        CARD_MAX_TOKENS,
        CARD_TARGET_TOKENS,
        PREAMBLE_TOKENS,
        ChoiceCard,
        card_tokens,
        make_card,
        order_cards,
        render_card,
        render_cards,
    )
    from toolcrib_core.context import Logger, Principal, Span, ToolContext, Tracer
    from toolcrib_core.definition import LossyFeature, ToolDefinition, ToolKind, ToolLifecycle, is_tool_definition
    from toolcrib_core.error_codes import create_tool_error, tool_code_prefix
    from toolcrib_core.errors import (
        AliasConflict,
        AliasCycle,
        AliasError,
        AliasTooDeep,
        AmbiguousTool,
        ArgumentError,
        ArgumentsTooLarge,
        CardOverBudget,
        CatalogError,
        DeprecatedTool,
        DuplicateTool,
        EmbedderUnusable,
        InvalidArguments,
        InvalidDefinition,
        InvalidOutput,
        InvalidSchema,
        InvalidToolId,
        MalformedJson,
        NotJson,
        PathInvalid,
        PathNotFound,
        QueryError,
        ResolutionError,
        SchemaError,
        SchemaTooComplex,
        ToolError,
        ToolErrorCategory,
        UnknownTool,
        UnknownVersion,
        UnreadableCall,
        UnsupportedTool,
        VocabularyError,
        WireNameCollision,
    )
    from toolcrib_core.excerpts import error_text
    from toolcrib_core.identity import (
        DEFAULT_NAMESPACE,
        ToolId,
        ToolIdentity,
        format_tool_id,
        hash8,
        normalize_identity,
        parse_tool_id,
    )
    from toolcrib_core.inspection import inspect
    from toolcrib_core.json_text import parse_json
    from toolcrib_core.json_values import JsonObject, JsonValue
    from toolcrib_core.predicates import (
        ToolPredicate,
        all_of,
        any_of,
        has_parameters,
        has_tags,
        in_namespace,
        is_deprecated,
        metadata_matches,
        none_of,
        of_kind,
        text_contains,
        with_risk,
        with_version,
    )
    from toolcrib_core.providers.conversion import Conversion, convert_schema, first_fitting
    from toolcrib_core.providers.dialects import VendorDialect
    from toolcrib_core.providers.losses import Loss, LossReport
    from toolcrib_core.providers.names import ToolNames
    from toolcrib_core.providers.nulls import restore_arguments
    from toolcrib_core.providers.parsed import BrokenCall, ParsedCall, ParsedCalls
    from toolcrib_core.providers.results import ResultContent, ResultLike
    from toolcrib_core.providers.tool_sources import OnIllegal, ToolLike, ToolsLike
    from toolcrib_core.registry import (
        RegistryChange,
        RegistryOptions,
        RegistrySnapshot,
        RegistryView,
        RegistryWarning,
        ToolRegistry,
        combine_registries,
        create_registry,
    )
    from toolcrib_core.risk import HARMLESS, ToolRisk, merge_risks
    from toolcrib_core.schema.canonical import canonical_json, digest
    from toolcrib_core.schema.check import check_schema
    from toolcrib_core.schema.compare import Comparison, compare
    from toolcrib_core.schema.compare_changes import Change
    from toolcrib_core.schema.relax import relax_patterns
    from toolcrib_core.schema.validate import is_valid, iter_violations, validate_arguments, validate_value
    from toolcrib_core.search import (
        CaseFinding,
        ConfusablePair,
        DocumentVectors,
        Embedder,
        Explanation,
        FindabilityReport,
        SearchHit,
        SearchIndex,
        SearchResult,
        TermMatch,
        VectorCache,
        findability,
    )
    from toolcrib_core.serialization import (
        SerializedRegistry,
        SerializedToolDefinition,
        deserialize_registry,
        deserialize_tool_definition,
        registry_json,
        serialize_registry,
        serialize_tool_definition,
    )
    from toolcrib_core.sources import define_tool
    from toolcrib_core.tags import normalize_tags
    from toolcrib_core.tokens import count_tokens
    from toolcrib_core.tree import BrowseTree, TreeEntry, TreeLeaf, TreeNode, parse_path
    from toolcrib_core.truncation import truncate_description
    from toolcrib_core.upstream_names import derive_name, infer_namespace, upstream_identity
    from toolcrib_core.versions import SemVer, VersionRange, parse_range, parse_version
    from toolcrib_core.wire_names import WireNames

_NAMES = {
    "calls": "ToolCall",
    "cards": (
        "CARD_MAX_TOKENS CARD_TARGET_TOKENS ChoiceCard PREAMBLE_TOKENS card_tokens make_card order_cards "
        "render_card render_cards"
    ),
    "context": "Logger Principal Span ToolContext Tracer",
    "definition": "LossyFeature ToolDefinition ToolKind ToolLifecycle is_tool_definition",
    "error_codes": "create_tool_error tool_code_prefix",
    "errors": (
        "AliasConflict AliasCycle AliasError AliasTooDeep AmbiguousTool ArgumentError ArgumentsTooLarge "
        "CardOverBudget CatalogError DeprecatedTool DuplicateTool EmbedderUnusable InvalidArguments "
        "InvalidDefinition InvalidOutput InvalidSchema InvalidToolId MalformedJson NotJson PathInvalid PathNotFound "
        "QueryError ResolutionError SchemaError SchemaTooComplex ToolError ToolErrorCategory UnknownTool "
        "UnknownVersion UnreadableCall UnsupportedTool VocabularyError WireNameCollision"
    ),
    "excerpts": "error_text",
    "identity": "DEFAULT_NAMESPACE ToolId ToolIdentity format_tool_id hash8 normalize_identity parse_tool_id",
    "inspection": "inspect",
    "json_text": "parse_json",
    "json_values": "JsonObject JsonValue",
    "predicates": (
        "ToolPredicate all_of any_of has_parameters has_tags in_namespace is_deprecated metadata_matches "
        "none_of of_kind text_contains with_risk with_version"
    ),
    "providers.conversion": "Conversion convert_schema first_fitting",
    "providers.dialects": "VendorDialect",
    "providers.losses": "Loss LossReport",
    "providers.names": "ToolNames",
    "providers.nulls": "restore_arguments",
    "providers.parsed": "BrokenCall ParsedCall ParsedCalls",
    "providers.results": "ResultContent ResultLike",
    "providers.tool_sources": "OnIllegal ToolLike ToolsLike",
    "registry": (
        "RegistryChange RegistryOptions RegistrySnapshot RegistryView RegistryWarning ToolRegistry "
        "combine_registries create_registry"
    ),
    "risk": "HARMLESS ToolRisk merge_risks",
    "schema.canonical": "canonical_json digest",
    "schema.check": "check_schema",
    "schema.compare": "Comparison compare",
    "schema.compare_changes": "Change",
    "schema.relax": "relax_patterns",
    "schema.validate": "is_valid iter_violations validate_arguments validate_value",
    "search": (
        "CaseFinding ConfusablePair DocumentVectors Embedder Explanation FindabilityReport SearchHit "
        "SearchIndex SearchResult TermMatch VectorCache findability"
    ),
    "serialization": (
        "SerializedRegistry SerializedToolDefinition deserialize_registry deserialize_tool_definition "
        "registry_json serialize_registry serialize_tool_definition"
    ),
    "sources": "define_tool",
    "tags": "normalize_tags",
    "tokens": "count_tokens",
    "tree": "BrowseTree TreeEntry TreeLeaf TreeNode parse_path",
    "truncation": "truncate_description",
    "upstream_names": "derive_name infer_namespace upstream_identity",
    "versions": "SemVer VersionRange parse_range parse_version",
    "wire_names": "WireNames",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


__all__ = [
    "CARD_MAX_TOKENS",
    "CARD_TARGET_TOKENS",
    "DEFAULT_NAMESPACE",
    "HARMLESS",
    "PREAMBLE_TOKENS",
    "AliasConflict",
    "AliasCycle",
    "AliasError",
    "AliasTooDeep",
    "AmbiguousTool",
    "ArgumentError",
    "ArgumentsTooLarge",
    "BrokenCall",
    "BrowseTree",
    "CardOverBudget",
    "CaseFinding",
    "CatalogError",
    "Change",
    "ChoiceCard",
    "Comparison",
    "ConfusablePair",
    "Conversion",
    "DeprecatedTool",
    "DocumentVectors",
    "DuplicateTool",
    "Embedder",
    "EmbedderUnusable",
    "Explanation",
    "FindabilityReport",
    "InvalidArguments",
    "InvalidDefinition",
    "InvalidOutput",
    "InvalidSchema",
    "InvalidToolId",
    "JsonObject",
    "JsonValue",
    "Logger",
    "Loss",
    "LossReport",
    "LossyFeature",
    "MalformedJson",
    "NotJson",
    "OnIllegal",
    "ParsedCall",
    "ParsedCalls",
    "PathInvalid",
    "PathNotFound",
    "Principal",
    "QueryError",
    "RegistryChange",
    "RegistryOptions",
    "RegistrySnapshot",
    "RegistryView",
    "RegistryWarning",
    "ResolutionError",
    "ResultContent",
    "ResultLike",
    "SchemaError",
    "SchemaTooComplex",
    "SearchHit",
    "SearchIndex",
    "SearchResult",
    "SemVer",
    "SerializedRegistry",
    "SerializedToolDefinition",
    "Span",
    "TermMatch",
    "ToolCall",
    "ToolContext",
    "ToolDefinition",
    "ToolError",
    "ToolErrorCategory",
    "ToolId",
    "ToolIdentity",
    "ToolKind",
    "ToolLifecycle",
    "ToolLike",
    "ToolNames",
    "ToolPredicate",
    "ToolRegistry",
    "ToolRisk",
    "ToolsLike",
    "Tracer",
    "TreeEntry",
    "TreeLeaf",
    "TreeNode",
    "UnknownTool",
    "UnknownVersion",
    "UnreadableCall",
    "UnsupportedTool",
    "VectorCache",
    "VendorDialect",
    "VersionRange",
    "VocabularyError",
    "WireNameCollision",
    "WireNames",
    "all_of",
    "any_of",
    "canonical_json",
    "card_tokens",
    "check_schema",
    "combine_registries",
    "compare",
    "convert_schema",
    "count_tokens",
    "create_registry",
    "create_tool_error",
    "define_tool",
    "derive_name",
    "deserialize_registry",
    "deserialize_tool_definition",
    "digest",
    "error_text",
    "findability",
    "first_fitting",
    "format_tool_id",
    "has_parameters",
    "has_tags",
    "hash8",
    "in_namespace",
    "infer_namespace",
    "inspect",
    "is_deprecated",
    "is_tool_definition",
    "is_valid",
    "iter_violations",
    "make_card",
    "merge_risks",
    "metadata_matches",
    "none_of",
    "normalize_identity",
    "normalize_tags",
    "of_kind",
    "order_cards",
    "parse_json",
    "parse_path",
    "parse_range",
    "parse_tool_id",
    "parse_version",
    "registry_json",
    "relax_patterns",
    "render_card",
    "render_cards",
    "restore_arguments",
    "serialize_registry",
    "serialize_tool_definition",
    "text_contains",
    "tool_code_prefix",
    "truncate_description",
    "upstream_identity",
    "validate_arguments",
    "validate_value",
    "with_risk",
    "with_version",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
