"""Small OpenAPI documents in the manner of large public ones."""

from __future__ import annotations

from typing import Any


def github_like() -> dict[str, Any]:
    """3.0: slashes in operation ids, shared parameters, `nullable`, an upload server of its own, no security."""
    return {
        "openapi": "3.0.3",
        "info": {"title": "Code hosting", "version": "1"},
        "servers": [{"url": "https://code.example"}],
        "paths": {
            "/repos/{owner}/{repo}/issues": {
                "parameters": [{"$ref": "#/components/parameters/owner"}, {"$ref": "#/components/parameters/repo"}],
                "get": {
                    "operationId": "issues/list-for-repo",
                    "summary": "List issues.",
                    "tags": ["issues"],
                    "parameters": [
                        {"name": "labels", "in": "query", "explode": False, "schema": _strings()},
                        {"name": "per_page", "in": "query", "schema": {"type": "integer", "default": 30}},
                        {
                            "name": "X-Api-Version",
                            "in": "header",
                            "required": True,
                            "schema": {"type": "string", "default": "2022-11-28"},
                        },
                    ],
                    "responses": {"200": {"description": "Issues."}},
                },
                "post": {
                    "operationId": "issues/create",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["title"],
                                    "properties": {
                                        "title": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                                        "milestone": {
                                            "nullable": True,
                                            "allOf": [{"$ref": "#/components/schemas/milestone"}],
                                        },
                                        "assignees": _strings(),
                                    },
                                }
                            }
                        },
                    },
                },
            },
            "/repos/{owner}/{repo}/releases/{release_id}/assets": {
                "post": {
                    "operationId": "repos/upload-release-asset",
                    "servers": [{"url": "https://uploads.code.example"}],
                    "parameters": [
                        {"$ref": "#/components/parameters/owner"},
                        {"$ref": "#/components/parameters/repo"},
                        {"name": "release_id", "in": "path", "required": True, "schema": {"type": "integer"}},
                        {"name": "name", "in": "query", "required": True, "schema": {"type": "string"}},
                    ],
                    "requestBody": {
                        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
                    },
                }
            },
            "/markdown/raw": {
                "post": {
                    "operationId": "markdown/render-raw",
                    "requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}},
                }
            },
        },
        "components": {
            "parameters": {
                name: {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in ("owner", "repo")
            },
            "schemas": {"milestone": {"type": "object", "properties": {"number": {"type": "integer"}}}},
        },
    }


def payments_like() -> dict[str, Any]:
    """3.0 in the manner of Stripe: every body is a form, nested in brackets, and the key is a user name or a token."""
    expand = {"style": "deepObject", "explode": True}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Payments", "version": "1"},
        "servers": [{"url": "https://payments.example/"}],
        "security": [{"basicAuth": []}, {"bearerAuth": []}],
        "paths": {
            "/v1/customers": {
                "get": {
                    "operationId": "GetCustomers",
                    "parameters": [
                        {
                            "name": "created",
                            "in": "query",
                            "style": "deepObject",
                            "explode": True,
                            "schema": {
                                "anyOf": [
                                    {"type": "object", "properties": {"gt": {"type": "integer"}}},
                                    {"type": "integer"},
                                ]
                            },
                        },
                        {"name": "expand", "in": "query", **expand, "schema": _strings()},
                    ],
                    "requestBody": {
                        "required": False,
                        "content": {
                            "application/x-www-form-urlencoded": {"encoding": {}, "schema": {"properties": {}}}
                        },
                    },
                },
                "post": {
                    "operationId": "PostCustomers",
                    "requestBody": {
                        "required": True,
                        "content": {
                            "application/x-www-form-urlencoded": {
                                "encoding": {"address": expand, "metadata": expand, "items": expand, "expand": expand},
                                "schema": {
                                    "type": "object",
                                    "required": ["email"],
                                    "properties": {
                                        "email": {"type": "string"},
                                        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
                                        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
                                        "items": {
                                            "type": "array",
                                            "items": {"type": "object", "properties": {"price": {"type": "string"}}},
                                        },
                                        "expand": _strings(),
                                        "validate": {"type": "boolean"},
                                    },
                                },
                            }
                        },
                    },
                },
            },
        },
        "components": {
            "securitySchemes": {
                "basicAuth": {"type": "http", "scheme": "basic"},
                "bearerAuth": {"type": "http", "scheme": "bearer"},
            }
        },
    }


def chat_like() -> dict[str, Any]:
    """2.0 in the manner of Slack: tokens as parameters, forms by default, a file to upload."""
    token = {"name": "token", "in": "header", "required": True, "type": "string"}
    return {
        "swagger": "2.0",
        "info": {"title": "Chat", "version": "1"},
        "host": "chat.example",
        "basePath": "/api",
        "schemes": ["http", "https"],
        "consumes": ["application/x-www-form-urlencoded", "application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {
            "slackAuth": {
                "type": "oauth2",
                "flow": "accessCode",
                "authorizationUrl": "https://chat.example/a",
                "tokenUrl": "https://chat.example/t",
                "scopes": {"chat:write": "Write."},
            }
        },
        "paths": {
            "/chat.postMessage": {
                "post": {
                    "operationId": "chat_postMessage",
                    "security": [{"slackAuth": ["chat:write"]}],
                    "parameters": [
                        token,
                        {"name": "channel", "in": "formData", "required": True, "type": "string"},
                        {"name": "text", "in": "formData", "type": "string", "description": "What to say."},
                        {"name": "unfurl_links", "in": "formData", "type": "boolean"},
                        {
                            "name": "users",
                            "in": "formData",
                            "type": "array",
                            "items": {"type": "string"},
                            "collectionFormat": "csv",
                        },
                    ],
                }
            },
            "/files.upload": {
                "post": {
                    "operationId": "files_upload",
                    "consumes": ["multipart/form-data"],
                    "security": [{"slackAuth": []}],
                    "parameters": [
                        {"name": "file", "in": "formData", "type": "file", "description": "The file."},
                        {"name": "title", "in": "formData", "type": "string"},
                    ],
                }
            },
        },
    }


def cluster_like() -> dict[str, Any]:
    """2.0 in the manner of Kubernetes: `*/*`, bodies by reference that hold themselves, patches of several types."""
    return {
        "swagger": "2.0",
        "info": {"title": "Cluster", "version": "1"},
        "host": "cluster.example",
        "security": [{"BearerToken": []}],
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "paths": {
            "/api/v1/namespaces/{namespace}/pods": {
                "parameters": [
                    {"name": "namespace", "in": "path", "required": True, "type": "string", "uniqueItems": True},
                    {"name": "pretty", "in": "query", "type": "string", "uniqueItems": True},
                ],
                "post": {
                    "operationId": "createPod",
                    "consumes": ["*/*"],
                    "parameters": [
                        {"name": "body", "in": "body", "required": True, "schema": {"$ref": "#/definitions/v1.Pod"}}
                    ],
                },
            },
            "/api/v1/namespaces/{namespace}/pods/{name}": {
                "parameters": [{"name": "name", "in": "path", "required": True, "type": "string"}],
                "patch": {
                    "operationId": "patchPod",
                    "consumes": ["application/json-patch+json", "application/merge-patch+json"],
                    "parameters": [{"name": "body", "in": "body", "required": True, "schema": {"type": "object"}}],
                },
            },
        },
        "definitions": {
            "v1.Pod": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "owner": {"$ref": "#/definitions/v1.Pod"},
                    "port": {"type": "string", "format": "int-or-string", "x-nullable": True},
                },
            }
        },
    }


def petstore_like() -> dict[str, Any]:
    """3.1: cookies, alternatives to JSON, an upload beside fields, a key in the query, XML alone."""
    pet = {
        "type": "object",
        "required": ["id", "name"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"$ref": "#/components/schemas/Pet/$defs/Tag"}},
        },
        "$defs": {"Tag": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://{region}.pets.example/{path}", "variables": _VARIABLES}],
        "security": [{"api_key": []}],
        "paths": {
            "/pet": {
                "post": {
                    "operationId": "addPet",
                    "parameters": [
                        {"name": "session", "in": "cookie", "required": True, "schema": {"type": "string"}},
                        {"name": "flags", "in": "cookie", "explode": False, "schema": _strings()},
                        {"name": "api_key", "in": "query", "required": True, "schema": {"type": "string"}},
                    ],
                    "requestBody": {
                        "content": {
                            "application/xml": {"schema": {"$ref": "#/components/schemas/Pet"}},
                            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
                        }
                    },
                },
                "put": {
                    "operationId": "replacePet",
                    "requestBody": {"content": {"application/xml": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
                },
            },
            "/pet/{petId}/image": {"$ref": "#/components/pathItems/Image"},
            "/health": {"get": {"operationId": "health", "security": []}},
        },
        "components": {
            "schemas": {"Pet": pet},
            "pathItems": {
                "Image": {
                    "post": {
                        "operationId": "uploadImage",
                        "parameters": [
                            {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
                        ],
                        "requestBody": {
                            "required": True,
                            "content": {
                                "multipart/form-data": {
                                    "schema": {
                                        "type": "object",
                                        "required": ["image"],
                                        "properties": {
                                            "image": {"type": "string", "contentMediaType": "image/png"},
                                            "more": {"type": "array", "items": {}},
                                            "about": {"$ref": "#/components/schemas/Pet"},
                                            "note": {"type": "string"},
                                            "sizes": {"type": "array", "items": {"type": "integer"}},
                                        },
                                    },
                                    "encoding": {"more": {"contentType": "application/octet-stream"}},
                                }
                            },
                        },
                    }
                }
            },
            "securitySchemes": {"api_key": {"type": "apiKey", "in": "query", "name": "api_key"}},
        },
    }


_VARIABLES: dict[str, Any] = {"region": {"default": "eu", "enum": ["eu", "us"]}, "path": {"default": "v1"}}


def _strings() -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}}
