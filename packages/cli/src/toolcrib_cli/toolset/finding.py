"""Which instance somebody means: by its name or by its id."""

from __future__ import annotations

from toolcrib_core.wording import shown
from toolcrib_toolsets import InstanceNotFound, InstanceNotOwned, Toolset, ToolsetService


async def instance_of(service: ToolsetService, user: str, text: str) -> Toolset:
    """The instance of a user; what is somebody else's does not exist.

    Raises:
        InstanceNotFound: There is none.
    """
    mine = await service.list_instances(user)
    by_name = next((each for each in mine if each.name == text), None)
    if by_name is not None:
        return by_name
    try:
        return await service.get_instance(user, text)
    except InstanceNotOwned:
        raise InstanceNotFound.of(id=shown(text)) from None
