"""The templates of one pack, compiled once and filled in for each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from toolcrib_toolpacks.checks import use_of
from toolcrib_toolpacks.errors import TemplateError
from toolcrib_toolpacks.model import Toolpack, templates_of
from toolcrib_toolpacks.template_rules import TemplateNames
from toolcrib_toolpacks.templating import CompiledTemplate, compile_template

Place: TypeAlias = tuple[str | int, ...]

_END_OF_OPTIONS = "--"


class Rendering:
    """What the templates of a pack become; `env` are the variables that they may name."""

    def __init__(self, pack: Toolpack, env: Mapping[str, str]) -> None:
        variables = frozenset(pack.env.passthrough) | frozenset(pack.env.assigned)
        names = TemplateNames(context=pack.templating.context, env=variables)
        self._env = env
        self._compiled = {
            place: compile_template(text, use=use_of(place, pack.execution), names=names)
            for place, text in templates_of(pack).items()
        }

    def text(self, place: Place, arguments: Mapping[str, object]) -> str:
        """The text of one place.

        Raises:
            TemplateError: A value is missing or may not stand there.
        """
        return self._compiled[place].render({"input": arguments, "env": self._env})

    def items(self, places: Sequence[Place], arguments: Mapping[str, object]) -> tuple[str, ...]:
        """Items of a command line, each one item whatever its value is; one whose `if` does not hold is left out.

        Raises:
            TemplateError: A value is missing, or would be read as an option: it begins with `-`, is not behind a `--`,
                and nothing of the template stands before it.
        """
        rendered: list[str] = []
        for place in places:
            item, starts_with_value, is_nothing = self._compiled[place].fill({"input": arguments, "env": self._env})
            if is_nothing:
                continue
            if item.startswith("-") and starts_with_value and _END_OF_OPTIONS not in rendered:
                raise TemplateError(
                    f"A value for item {len(rendered) + 1} of the command line begins with `-`, "
                    "and would be read as an option.",
                    hint="Give another value; or let the pack put `--` before it.",
                )
            rendered.append(item)
        return tuple(rendered)

    def template(self, place: Place) -> CompiledTemplate | None:
        """The template of a place, if there is one."""
        return self._compiled.get(place)
