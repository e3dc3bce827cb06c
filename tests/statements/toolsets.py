"""The statements of document 003, toolset instances. It numbers nothing; the numbers here are those of its sections."""

from __future__ import annotations

from tests.statements.statement import Statement

_SUMMARY = "Summary"
_DECISIONS = "Design Decisions"
_TYPES = "objs-types: domain types"
_VALIDATION = "objs-types: validation"
_LISTING = "objs-types: ToolsetWithTools and exports"
_SCHEMA = "services-schema"
_ROW = "services-row"
_STORE = "services-db"
_ERRORS = "services-tool: errors"
_SERVICE = "services-tool: methods"
_ORDER = "services-tool: implementation patterns"
_STORE_TESTS = "services-tests: store"
_SERVICE_TESTS = "services-tests: service"

_SECONDS = (
    "timestamps have fractions of a second: they tell two updates within a second apart, so that no connection with an "
    "old key is kept (TS-4)"
)


def _section(section: str, prefix: str, texts: dict[str, str], deviations: dict[str, str]) -> tuple[Statement, ...]:
    return tuple(
        Statement(id=f"D3-{prefix}{letter}", section=section, text=text, deviation=deviations.get(letter))
        for letter, text in texts.items()
    )


STATEMENTS: tuple[Statement, ...] = (
    *_section(
        _SUMMARY,
        "0",
        {
            "a": "A user has any number of instances of one type.",
            "b": "An instance is identified by a UUID and has a name that its user chose.",
        },
        {},
    ),
    *_section(
        _DECISIONS,
        "1",
        {
            "a": "The domain type of an instance is called `Toolset`.",
            "b": "The errors are kinds of `ToolsetError` and belong to the package of the service.",
            "c": "The type of an instance is checked strictly: it must be one of the types that exist.",
            "d": "The name is checked in the domain layer: at most 24 characters, alphanumeric and hyphens.",
            "e": "The key is changed by `ApiKeyUpdate`: keep it, or set it.",
            "f": "An update has PUT semantics: all fields are required except the key.",
            "g": "The database starts fresh; no older data is migrated.",
            "h": "`Toolset` is pure: it has no field of the key.",
            "i": "The outer layer shows the key masked, as `api_key_masked`.",
        },
        {"i": "`hasApiKey` says whether there is a key; no part of it is ever shown (TS-11)"},
    ),
    *_section(
        _TYPES,
        "2",
        {
            "a": "`ToolsetScope` parses the scopes of an access token that name a type.",
            "b": "`ToolsetDefinition` is a type: its id, its name, its tools.",
            "c": "`ToolDefinition` is one tool of a type.",
            "d": "`FunctionDefinition` is the function within a tool.",
            "e": "`AppToolsetConfig` is the switch of a type for the whole application.",
            "f": "`UserToolsetConfig` and `UserToolsetConfigSummary` do not exist.",
            "g": "`Toolset` has an id, which is a UUID as text.",
            "h": "`Toolset` has the name that the user chose, unique for each user.",
            "i": "`Toolset` has the type that it is an instance of, as `builtin-exa-web-search`.",
            "j": "`Toolset` has an optional description.",
            "k": "A description that is absent is left out when a `Toolset` is written.",
            "l": "`Toolset` says whether its user has enabled it.",
            "m": "`Toolset` has the timestamps of its creation and of its last update.",
            "n": "The schema gives both timestamps the format `date-time`.",
            "o": "A `Toolset` is read from what was written, and equal to it.",
        },
        {},
    ),
    *_section(
        _VALIDATION,
        "3",
        {
            "a": "A name has only letters and digits of ASCII and hyphens.",
            "b": "The longest name has 24 characters: `MAX_TOOLSET_NAME_LEN`.",
            "c": "The longest description has 255 characters: `MAX_TOOLSET_DESCRIPTION_LEN`.",
            "d": "An empty name is refused: `name cannot be empty`.",
            "e": "A longer name is refused: `name exceeds 24 characters`.",
            "f": "Any other character is refused: `name must contain only alphanumeric characters and hyphens`.",
            "g": "Emptiness is checked first, then the length, then the characters.",
            "h": "A longer description is refused: `description exceeds 255 characters`.",
            "i": "An empty description is valid.",
            "j": "Every text of at most 255 characters is a valid description.",
            "k": "Lengths are those of the text in bytes.",
            "l": "`my-toolset`, `MyToolset123`, `a` and `a-b-c` are names.",
            "m": "An empty text, an underscore, a space and a dot make no name.",
            "n": "Names use only characters that collide with no separator of a client.",
        },
        {
            "j": "a description is one line without control characters: clients and terminals show it (TS-2)",
            "k": "lengths count characters, as the document's own table and schema say",
        },
    ),
    *_section(
        _LISTING,
        "4",
        {
            "a": "`ToolsetWithTools` has `toolset_id`, `name`, `description`, `app_enabled` and `tools`.",
            "b": "`ToolsetWithTools` has no configuration of a user.",
            "c": "`Toolset`, both validators and both constants are exported.",
        },
        {},
    ),
    *_section(
        _SCHEMA,
        "5",
        {
            "a": "The table `toolsets` has one row for each instance, with its id as the primary key.",
            "b": "`user_id` is the subject of the access token.",
            "c": "`user_id`, `toolset_type`, `name`, `enabled` and both timestamps are never null.",
            "d": "`description` and the three parts of the encrypted key may be null.",
            "e": "`enabled` is off by default.",
            "f": "The database itself refuses a second row with the same user and name.",
            "g": "Names that differ in case are two names; two users may use one name.",
            "h": "There is an index on the user.",
            "i": "There is an index on the type.",
            "j": "There is an index on user and type.",
            "k": "The table `app_toolset_configs` has one row for each type: its id is unique.",
            "l": "A switch has who moved it and both timestamps, none of them null.",
            "m": "There is an index on the id of the type.",
            "n": "`builtin-exa-web-search` is seeded, switched off, by `system`, with the current time.",
            "o": "Opening a database that has the tables changes nothing in them.",
            "p": "Timestamps are whole seconds since 1970.",
            "q": "The way down drops the tables with their indexes.",
        },
        {"p": _SECONDS},
    ),
    *_section(
        _ROW,
        "6",
        {
            "a": "`ToolsetRow` has id, user_id, toolset_type, name, description, enabled, created_at and updated_at.",
            "b": "A row has the encrypted key with its salt and nonce, or none of the three.",
            "c": "The timestamps of a row are integers.",
            "d": "The row of a switch stays as it was.",
            "e": "The table of OAuth clients, `app_client_toolset_configs`, stays as it was.",
            "f": "`ApiKeyUpdate` serves toolsets too.",
        },
        {
            "c": _SECONDS,
            "e": (
                "clients are not registered here: the scopes of an access token say which types it reaches (TS-14); "
                "the document puts the table out of its scope"
            ),
        },
    ),
    *_section(
        _STORE,
        "7",
        {
            "a": "The methods for the configuration of a user and type are gone from the store.",
            "b": "`get_toolset_by_id` finds a row by its UUID, or nothing.",
            "c": "`get_toolset_by_name` finds a row by its user and name, or nothing.",
            "d": "`create_toolset` only inserts, and gives the row.",
            "e": "`update_toolset` updates a row by its UUID, with an `ApiKeyUpdate`, and gives the row.",
            "f": "`list_toolsets` lists all rows of a user.",
            "g": "`list_toolsets_by_type` lists the rows of a user that are of one type.",
            "h": "`delete_toolset` deletes a row by its UUID.",
            "i": "`get_toolset_api_key` gives the decrypted key of a row, or nothing.",
            "j": "All of them work on SQLite.",
        },
        {},
    ),
    *_section(
        _ERRORS,
        "8",
        {
            "a": "`instance_not_found` is a not-found error with status 404.",
            "b": "`instance_name_exists` is a conflict with status 409.",
            "c": "`invalid_instance_name` is a bad request with status 400.",
            "d": "`instance_not_owned` is forbidden, with status 403.",
            "e": "`invalid_toolset_type` is a bad request with status 400.",
            "f": "Its message: `Toolset instance '{id}' not found`.",
            "g": "Its message: `Toolset toolset name '{name}' already exists`.",
            "h": "Its message: `Invalid toolset name: {reason}`.",
            "i": "Its message: `You don't have permission to access this toolset instance`.",
            "j": "Its message: `Invalid toolset type: {toolset_type}`.",
            "k": "Messages come from one catalogue.",
            "l": "A request for the instance of another user fails with `instance_not_owned`.",
        },
        {
            "l": (
                "the service says so; HTTP, the command line and MCP answer `instance_not_found`, so that ids cannot "
                "be probed, unless the program that serves the API turns `hide_foreign` off (TS-8)"
            )
        },
    ),
    *_section(
        _SERVICE,
        "9",
        {
            "a": "The methods for the configuration of a user and type are gone from the service.",
            "b": "`list_instances` lists the instances of a user.",
            "c": "`create_instance` takes the user, type, name, description, switch and key, and gives the instance.",
            "d": "A key is required to create an instance.",
            "e": "`get_instance` gives an instance of its owner.",
            "f": "`get_instance` gives nothing where there is no such instance.",
            "g": "`update_instance` writes name, description and switch, and changes the key as `ApiKeyUpdate` says.",
            "h": "`delete_instance` deletes an instance of its owner.",
            "i": "`execute_instance_tool` calls a method of an instance, from a request to a response.",
            "j": "`is_instance_available` says whether an instance can be called.",
            "k": "`list_toolset_types` lists the definitions of all types.",
            "l": "`get_toolset_type` gives the definition of a type, or nothing.",
            "m": "`validate_toolset_type` refuses a type that does not exist.",
            "n": "`is_type_enabled` says whether a type is enabled for the application.",
            "o": "`get_app_toolset_config` gives the switch of a type, or nothing.",
            "p": "`set_app_toolset_enabled` moves the switch of a type and gives it.",
            "q": "`list_app_toolset_configs` lists the switches.",
            "r": "`list_all_tool_definitions` lists the tools of all types.",
        },
        {
            "d": "for a type that needs one; a type without a key, as a local toolpack, needs none (TS-6)",
            "f": "it raises `instance_not_found`, as update and delete do: one fact, one error (TS-8)",
        },
    ),
    *_section(
        _ORDER,
        "10",
        {
            "a": "Create checks the name, then the type, then whether the name is free.",
            "b": "Create makes a UUID, encrypts the key and inserts one row.",
            "c": "Update finds the instance, then checks its owner, then the name.",
            "d": "Update checks whether the name is free only if it changed.",
            "e": "Update keeps the key or sets it.",
            "f": "Execute finds the instance, then checks its owner.",
            "g": "Execute then checks that the type is enabled, then that the instance is.",
            "h": "Execute then decrypts the key and calls the method with it.",
        },
        {},
    ),
    *_section(
        _STORE_TESTS,
        "11",
        {
            "a": "A toolset is created.",
            "b": "A second one with the same name fails.",
            "c": "The same name of another user succeeds.",
            "d": "One is found by its id.",
            "e": "One is found by its name.",
            "f": "An update keeps the key.",
            "g": "An update changes the key.",
            "h": "An update clears the key.",
            "i": "A list has the instances of its user only.",
            "j": "A list by type has those of the type.",
            "k": "One is deleted.",
            "l": "The key is decrypted as it was given.",
        },
        {},
    ),
    *_section(
        _SERVICE_TESTS,
        "12",
        {
            "a": "Create validates the name.",
            "b": "Create validates the type.",
            "c": "Create requires a key.",
            "d": "Names are unique for each user.",
            "e": "Get validates the owner.",
            "f": "Update validates the owner.",
            "g": "Update validates the new name.",
            "h": "Delete validates the owner.",
            "i": "Execute checks that the type is enabled.",
            "j": "Execute checks that the instance is enabled.",
            "k": "Execute checks that there is a key.",
            "l": "Validation accepts a built-in type.",
            "m": "Validation refuses an unknown type.",
        },
        {},
    ),
)
