"""Messages of Serilog's JSON formatters (.NET): a template, and the values beside it, in `Properties` or (compact) in the record itself."""

from __future__ import annotations

import json
import re

from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.shapes import Shaped

TEMPLATE = ("MessageTemplate", "@mt")
_PROPERTIES = ("Properties",)
_HOLE = expression(r"\{[@$]?(\w{1,80})(?:[,:][^{}]{0,80})?\}")


def filled(shaped: Shaped) -> str | None:
    """The message of a record that has a template, with its values; a hole without a value stays as it is."""
    template = shaped.first(TEMPLATE)
    if template is None:
        return None
    values = {**shaped.value, **(shaped.first(_PROPERTIES, dict) or {})}

    def value_of(hole: re.Match[str]) -> str:
        found = values.get(hole[1], hole[0])
        return found if isinstance(found, str) else json.dumps(found)

    return _HOLE.sub(value_of, template)
