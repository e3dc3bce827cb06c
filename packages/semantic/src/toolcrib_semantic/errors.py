"""What can go wrong in the semantic extra."""

from __future__ import annotations

from toolcrib_core.errors import EmbedderUnusable, ToolErrorCategory


class WeightsUnusable(EmbedderUnusable):
    """The weights of the sentence model are missing or damaged; search works without them."""

    default_code = "toolbox.weights-unusable"
    default_category = ToolErrorCategory.UNAVAILABLE
