"""The pages of the documentation that are made from the code, and whether they are current."""

from __future__ import annotations
