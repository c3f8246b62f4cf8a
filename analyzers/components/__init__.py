"""Whose code a class, a frame or a file is: one table of components, `components.toml`, which every list of packages reads."""

from __future__ import annotations

from analyzers.components.artefacts import artefact_of, connector_of
from analyzers.components.table import (
    ROLES,
    Component,
    component_of,
    components,
    is_user,
    named,
    of_scheme,
    packages,
    role_of,
    system_of,
)

__all__ = [
    "ROLES",
    "Component",
    "artefact_of",
    "component_of",
    "components",
    "connector_of",
    "is_user",
    "named",
    "of_scheme",
    "packages",
    "role_of",
    "system_of",
]
