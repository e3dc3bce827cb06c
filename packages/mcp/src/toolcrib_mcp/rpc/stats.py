"""What a connection counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class ConnectionStats:
    """What a connection has dropped or forgiven so far."""

    late_replies: int = 0
    """Answers to requests that had been given up."""
    duplicate_replies: int = 0
    unknown_ids: int = 0
    """Answers to requests that were never sent."""
    respelled_ids: int = 0
    """Ids of ours that came back as another type."""
    unreadable: int = 0
    """Messages that could not be read or were too long."""
    not_messages: int = 0
    """JSON objects that are no JSON-RPC messages."""
    stray_progress: int = 0
    """Progress that nobody asked for, or of requests that are over."""
    dropped_progress: int = 0
    dropped_notifications: int = 0
    dropped_sends: int = 0
    """Notices and answers of ours that a server which does not read was not sent."""
    refused_requests: int = 0
    """Requests of the server that were answered with an error, or not at all."""
    failed_handlers: int = 0
