"""Approvals: calls that somebody must allow first, bound to the exact call, each good for one."""

from __future__ import annotations

from toolcrib_mcp.approvals.book import ApprovalBook
from toolcrib_mcp.approvals.desk import COMMAND, STATE_PREFIX, ApprovalDesk, Cleared, Question, without_approval
from toolcrib_mcp.approvals.key_file import KEY_FILE, StateKey, state_key
from toolcrib_mcp.approvals.questions import KeptQuestion, forget_questions
from toolcrib_mcp.approvals.sealing import Seals
from toolcrib_mcp.approvals.subjects import CallFacts
from toolcrib_mcp.approvals.tables import APPROVALS_LINE

__all__ = [
    "APPROVALS_LINE",
    "COMMAND",
    "KEY_FILE",
    "STATE_PREFIX",
    "ApprovalBook",
    "ApprovalDesk",
    "CallFacts",
    "Cleared",
    "KeptQuestion",
    "Question",
    "Seals",
    "StateKey",
    "forget_questions",
    "state_key",
    "without_approval",
]
