"""A schema rewritten into what one vendor can say, with a report of everything that this loses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcrib_core.json_values import JsonObject
from toolcrib_core.providers.converter import Converter
from toolcrib_core.providers.dialects import VendorDialect
from toolcrib_core.providers.documents import SchemaDocument
from toolcrib_core.providers.losses import Loss, LossReport
from toolcrib_core.providers.measuring import over_limits


class Conversion(NamedTuple):
    """A schema as one vendor takes it."""

    schema: JsonObject
    report: LossReport
    dialect: VendorDialect
    refused: tuple[Loss, ...] = ()
    """Why an earlier dialect, such as the strict one, was not used: the narrowings that it would have meant."""


def convert_schema(schema: Mapping[str, Any], dialect: VendorDialect) -> Conversion:
    """Rewrite an input schema of a definition into a vendor's dialect.

    The answer may narrow: look at `report.blocking`, or let `first_fitting` do so. The schema must be one that a
    `ToolDefinition` holds: checked, of draft 2020-12, and describing an object.
    """
    document = SchemaDocument(dict(schema))
    converter = Converter(document, dialect)
    converted = converter.convert_root()
    losses = [*converter.losses, *over_limits(converted, dialect, document)]
    return Conversion(converted, LossReport(tuple(dict.fromkeys(losses))), dialect)


def first_fitting(schema: Mapping[str, Any], *dialects: VendorDialect) -> Conversion:
    """The conversion into the first dialect that refuses nothing the schema declares; the last is taken in any case.

    Give the strict dialect first and the plain one last: a conversion that would narrow falls back.
    """
    refused: tuple[Loss, ...] = ()
    for dialect in dialects[:-1]:
        conversion = convert_schema(schema, dialect)
        blocking = conversion.report.blocking
        if not blocking:
            return conversion._replace(refused=refused)
        refused += blocking
    return convert_schema(schema, dialects[-1])._replace(refused=refused)
