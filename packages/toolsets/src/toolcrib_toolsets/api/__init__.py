"""The management API over HTTP: instances for users, switches for administrators; no key ever comes back.

It needs the extra `toolcrib-toolsets[api]`.
"""

from __future__ import annotations

from toolcrib_toolsets.api.application import PREFIX, management_api
from toolcrib_toolsets.api.entering import Authenticate, Guard, InstanceCall, Principal

__all__ = ["PREFIX", "Authenticate", "Guard", "InstanceCall", "Principal", "management_api"]
