"""The scan of everything that a server says about itself, for what a person does not see and for orders to a model."""

from __future__ import annotations

from toolcrib_mcp.scan.findings import ScanReport, TextFinding
from toolcrib_mcp.scan.mentions import mentions_of
from toolcrib_mcp.scan.scanning import scan_texts

__all__ = ["ScanReport", "TextFinding", "mentions_of", "scan_texts"]
