"""What can go wrong with toolsets: stable codes, the HTTP status of each, and all messages in one catalogue.

ToolError (of core)
  ToolsetError
    InstanceNotFound, InstanceNotOwned, InstanceNameExists, InvalidInstanceName, InvalidDescription
    InvalidToolsetType, ToolsetTypeDisabled, InstanceDisabled, InstanceNotConfigured, MethodNotFound
    InvalidSettings, InvalidApiKey, ApiKeyRequired, TypeOutOfScope, ServiceFailed, NotAllowed, Unauthenticated
    ApiRequestInvalid, ApiAddressNotFound, ApiMethodNotAllowed
  SealingError        UnsealingFailed, WrongMasterKey, UnknownKeyId, OldSealFormat, MasterKeyUnusable

Nothing here ever holds a key, or a part of one.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

from toolcrib_core import ToolError, ToolErrorCategory

_SEE_ADDRESSES: Final = "`/api/v1/openapi.json` lists the addresses and their methods."

# One place for every sentence, so that all surfaces say the same: (message, hint). The first five are the contract's.
MESSAGES: Final[dict[str, tuple[str, str | None]]] = {
    "instance_not_found": (
        "Toolset instance '{id}' not found",
        "List your instances to find the one you mean.",
    ),
    "instance_not_owned": ("You don't have permission to access this toolset instance", None),
    "instance_name_exists": ("Toolset toolset name '{name}' already exists", "Take another name."),
    "invalid_instance_name": ("Invalid toolset name: {reason}", "An example is `my-search`."),
    "invalid_instance_description": ("Invalid toolset description: {reason}", None),
    "invalid_toolset_type": ("Invalid toolset type: {toolset_type}", "These are known: {known}."),
    "toolset_type_disabled": (
        "The toolset type {subject} is switched off for everybody.",
        "An administrator can switch it on: `toolcrib toolset enable`.",
    ),
    "instance_disabled": ("The toolset instance {subject} is switched off.", "Its owner can switch it on."),
    "instance_not_configured": (
        "The toolset instance {subject} has no key.",
        "Its owner can give it one: `toolcrib toolset update`.",
    ),
    "method_not_found": ("The toolset instance {subject} has no method {method}.", "It has: {known}."),
    "invalid_settings": ("The settings of a toolset instance are wrong: {reason}.", None),
    "invalid_api_key": ("The key is wrong: {reason}.", None),
    "api_key_required": ("The toolset type {subject} needs a key.", "Give one when the instance is created."),
    "type_out_of_scope": ("The access token does not reach toolsets of the type {subject}.", None),
    "service_failed": ("The service behind {subject} failed: {reason}.", None),
    "calls_not_served": ("Tools are not called through this API.", "Call them through the gateway."),
    "not_allowed": ("Only administrators may do this.", "Use the access token of an administrator."),
    "unauthenticated": (
        "The request has no valid access token.",
        "Send one as `Authorization: Bearer TOKEN`; `toolcrib token create` makes one.",
    ),
    "invalid_request": (
        "The request cannot be used: {reason}.",
        "Send `content-type: application/json` and what `/api/v1/openapi.json` describes.",
    ),
    "not_found": ("There is nothing at this address.", _SEE_ADDRESSES),
    "method_not_allowed": ("This address does not take this method.", _SEE_ADDRESSES),
}


class ToolsetError(ToolError):
    """Something about toolsets was refused; `status` is its HTTP status."""

    default_code = "toolbox.toolset-error"
    key: ClassVar[str] = ""
    """What the contract calls it; `MESSAGES` has its sentence."""
    status: ClassVar[int] = 500

    @classmethod
    def of(cls, **parts: str) -> Self:
        """The error with its sentence filled in."""
        message, hint = MESSAGES[cls.key]
        return cls(
            message.format_map(parts), hint=None if hint is None else hint.format_map(parts), details={"error": cls.key}
        )

    @classmethod
    def because(cls, reason: str) -> Self:
        """The error for a reason."""
        return cls.of(reason=reason)


class InstanceNotFound(ToolsetError):
    """There is no such instance; outside of the service also: it is somebody else's."""

    default_code = "toolbox.instance-not-found"
    default_category = ToolErrorCategory.NOT_FOUND
    key = "instance_not_found"
    status = 404


class InstanceNotOwned(ToolsetError):
    """The instance is somebody else's; outward surfaces say that there is none."""

    default_code = "toolbox.instance-not-owned"
    default_category = ToolErrorCategory.PERMISSION
    key = "instance_not_owned"
    status = 403


class InstanceNameExists(ToolsetError):
    """The user has an instance of this name."""

    default_code = "toolbox.instance-name-exists"
    default_category = ToolErrorCategory.CONFLICT
    key = "instance_name_exists"
    status = 409


class InvalidInstanceName(ToolsetError):
    """The name is not 1 to 24 letters, digits and hyphens."""

    default_code = "toolbox.invalid-instance-name"
    default_category = ToolErrorCategory.VALIDATION
    key = "invalid_instance_name"
    status = 400


class InvalidDescription(ToolsetError):
    """The description is too long, or cannot be shown."""

    default_code = "toolbox.invalid-instance-description"
    default_category = ToolErrorCategory.VALIDATION
    key = "invalid_instance_description"
    status = 400


class InvalidToolsetType(ToolsetError):
    """There is no such type."""

    default_code = "toolbox.invalid-toolset-type"
    default_category = ToolErrorCategory.VALIDATION
    key = "invalid_toolset_type"
    status = 400


class ToolsetTypeDisabled(ToolsetError):
    """An administrator has not switched the type on."""

    default_code = "toolbox.toolset-type-disabled"
    default_category = ToolErrorCategory.PERMISSION
    key = "toolset_type_disabled"
    status = 400


class InstanceDisabled(ToolsetError):
    """The owner has switched the instance off."""

    default_code = "toolbox.instance-disabled"
    default_category = ToolErrorCategory.PERMISSION
    key = "instance_disabled"
    status = 400


class InstanceNotConfigured(ToolsetError):
    """The instance has no key, and its type needs one."""

    default_code = "toolbox.instance-not-configured"
    default_category = ToolErrorCategory.VALIDATION
    key = "instance_not_configured"
    status = 400


class MethodNotFound(ToolsetError):
    """The type of the instance has no such method."""

    default_code = "toolbox.method-not-found"
    default_category = ToolErrorCategory.NOT_FOUND
    key = "method_not_found"
    status = 404


class InvalidSettings(ToolsetError):
    """The type cannot be set to that."""

    default_code = "toolbox.invalid-toolset-settings"
    default_category = ToolErrorCategory.VALIDATION
    key = "invalid_settings"
    status = 400


class InvalidApiKey(ToolsetError):
    """The key is empty, too long, or no text that can be sent."""

    default_code = "toolbox.invalid-api-key"
    default_category = ToolErrorCategory.VALIDATION
    key = "invalid_api_key"
    status = 400


class ApiKeyRequired(ToolsetError):
    """The type needs a key, and none was given."""

    default_code = "toolbox.api-key-required"
    default_category = ToolErrorCategory.VALIDATION
    key = "api_key_required"
    status = 400


class TypeOutOfScope(ToolsetError):
    """The scopes of the access token do not name the type."""

    default_code = "toolbox.type-out-of-scope"
    default_category = ToolErrorCategory.PERMISSION
    key = "type_out_of_scope"
    status = 403


class ServiceFailed(ToolsetError):
    """What the instance talks to did not answer as it should."""

    default_code = "toolbox.service-failed"
    default_category = ToolErrorCategory.UNAVAILABLE
    key = "service_failed"
    status = 502


class NotAllowed(ToolsetError):
    """Only an administrator may."""

    default_code = "toolbox.not-allowed"
    default_category = ToolErrorCategory.PERMISSION
    key = "not_allowed"
    status = 403


class Unauthenticated(ToolsetError):
    """There is no access token, or none that is known and still good."""

    default_code = "toolbox.unauthenticated"
    default_category = ToolErrorCategory.PERMISSION
    key = "unauthenticated"
    status = 401


class ApiRequestInvalid(ToolsetError):
    """A request to the management API is no JSON, does not fit its schema, or is too large or too slow."""

    default_code = "toolbox.api-request-invalid"
    default_category = ToolErrorCategory.VALIDATION
    key = "invalid_request"
    status = 400


class CallsNotServed(ToolsetError):
    """The management API was made without a guard, and calls no tools."""

    default_code = "toolbox.calls-not-served"
    default_category = ToolErrorCategory.PERMISSION
    key = "calls_not_served"
    status = 403


class ApiAddressNotFound(ToolsetError):
    """The management API has nothing at the address of a request."""

    default_code = "toolbox.api-address-not-found"
    default_category = ToolErrorCategory.NOT_FOUND
    key = "not_found"
    status = 404


class ApiMethodNotAllowed(ToolsetError):
    """The management API takes other methods at the address of a request."""

    default_code = "toolbox.api-method-not-allowed"
    default_category = ToolErrorCategory.VALIDATION
    key = "method_not_allowed"
    status = 405


class SealingError(ToolError):
    """A sealed key cannot be used. It is never taken for "no key"."""

    default_code = "toolbox.sealing-error"


class UnsealingFailed(SealingError):
    """What is sealed was altered, or belongs to another row, owner or field."""

    default_code = "toolbox.unsealing-failed"


class WrongMasterKey(SealingError):
    """It was sealed under a master key of this database that was not given."""

    default_code = "toolbox.wrong-master-key"
    default_category = ToolErrorCategory.UNAVAILABLE


class UnknownKeyId(SealingError):
    """It names a master key that this database has never had."""

    default_code = "toolbox.unknown-key-id"


class OldSealFormat(SealingError):
    """It was sealed in a form that is no longer read, or in one that is not known yet."""

    default_code = "toolbox.old-seal-format"


class MasterKeyUnusable(SealingError):
    """The master key is missing, too short, a placeholder, or readable to others."""

    default_code = "toolbox.master-key-unusable"
    default_category = ToolErrorCategory.VALIDATION
