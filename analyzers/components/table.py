"""The table of components, and who is looked up in it: the longest name wins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from analyzers.components.toml_files import toml_file

ROLES = (
    "service", "cloud", "storage", "table", "disk", "codec", "kafka", "state", "checkpoint", "peer", "ha", "engine", "connect", "runtime", "library",
)  # fmt: skip
LANGUAGES = ("java", "python", "dotnet", "go", "rust", "node")
_DOTTED = ("java", "dotnet", "python")  # a name of unknown language is looked for in this order
_SEPARATORS = {"java": ".$", "dotnet": ".`+", "python": ".", "go": "/.", "rust": ":", "node": "/"}

_PYTHON_PLACE = re.compile(r"(?:site-packages|dist-packages)/(?P<module>[\w./-]+)")
_CYTHON = re.compile(r"(?:\./)?(?P<module>\w+)/[\w/]+\.pyx\b")
_NPM_PLACE = re.compile(r"node_modules/(?P<module>(?:@[\w.-]+/)?[\w.-]+)")
_NPM_NAME = re.compile(r"@?[\w.-]+(?:/[\w.-]+)*")
_NODE_ITSELF = re.compile(r"\(?(?P<module>node:[\w/]+|internal/[\w/]+)")
_CRATE_PLACE = re.compile(r"/registry/src/[^/]+/(?P<module>[\w-]+?)-\d")
_GO_PLACE = re.compile(r"/pkg/mod/(?P<module>[\w./-]+?)@v")
_RUST_TYPE = re.compile(r"^<(?:&?(?:mut )?)?(?P<type>[\w:]+)")
_JAVA_MODULE = re.compile(r"^[\w.@-]*/{1,2}")
_PYTHON_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python|py4j|pyspark[/.]|apache_beam/|pyflink/|/runpy\.py|\.pyx\b|<frozen|<string>|<stdin>|<__array_function__"
)
"""Where files of Python lie that no user wrote."""
_MOVED = re.compile(r"shade|shadow|relocat|repackag|thirdparty|third_party|\bvendor\b|hidden")
_MOVED_TO = re.compile(r"[.](?=(?:org|com|io|net|software|okhttp3|okio|redis|ru|akka)\.[a-z])")


@dataclass(frozen=True)
class Component:
    """A part that programs are made of. ``called``: its name on a card; None where nothing can be its fault."""

    id: str
    called: str | None
    role: str
    vague: bool = False
    """Stands for many: a database, an HTTP service, a cloud."""


@cache
def _table() -> dict[str, dict[str, Component]]:
    """Per language (and `names`, `schemes`, `artefacts`) the component of each name."""
    found: dict[str, dict[str, Component]] = {key: {} for key in (*LANGUAGES, "names", "schemes", "artefacts")}
    for key, row in toml_file(__package__ or "analyzers.components", "components.toml").items():
        component = Component(key, row.get("called"), row["role"], row.get("vague", False))
        for column, index in found.items():
            index.update(dict.fromkeys(row.get(column, ()), component))
    return found


def components() -> Iterator[Component]:
    """Every component of the table."""
    yield from dict.fromkeys(component for index in _table().values() for component in index.values())


def packages(*roles: str, language: str = "java") -> tuple[str, ...]:
    """The packages of the components with these roles (of all, where none is given), sorted; those within another one of them left out."""
    mine = sorted(name for name, component in _table()[language].items() if not roles or component.role in roles)
    kept: list[str] = []
    for name in mine:
        if not kept or not name.startswith(kept[-1] + "."):
            kept.append(name)
    return tuple(kept)


@lru_cache(maxsize=1 << 14)
def component_of(name: str, language: str | None = None) -> Component | None:
    """The component that a class or a frame belongs to; `language`: of the trace, where it is known. None: it is the user's, or unknown."""
    name, language = _shaped(name.strip(), language)
    if language is not None:
        return _longest(_table()[language], _without_module(name) if language == "java" else name, _SEPARATORS[language])
    name = _without_module(name)
    for language in _DOTTED:
        found = _longest(_table()[language], name, _SEPARATORS[language])
        if found is not None and not (language == "python" and found.role in ("runtime", "library")):
            return found  # modules as short as `io` and `os` begin Java packages of users, too
    return None


def system_of(name: str, language: str | None = None) -> str | None:
    """What the component of a class or a frame is called on a card."""
    found = component_of(name, language)
    return found.called if found else None


def role_of(name: str, language: str | None = None) -> str:
    """The role of a class or a frame; ``user`` where the table does not know it."""
    found = component_of(name, language)
    return found.role if found else "user"


def is_user(frame: str, language: str | None = None) -> bool:
    """Whether a frame (``class.method``, a Python ``file:function``, a frame of another language) may be the user's own code."""
    if language == "python" or (language is None and ":" in frame and "::" not in frame):
        return not _PYTHON_LIBRARY.search(frame)
    if language in ("node", "rust", "go"):
        return component_of(frame, language) is None
    if frame.startswith(("$Proxy", "<")) or "." not in frame:
        return False
    return component_of(frame, language) is None and not _MOVED.search(frame.rpartition(".")[0])


@cache
def _beginnings() -> re.Pattern[str]:
    names = sorted(_table()["names"], key=len, reverse=True)
    return re.compile("|".join(rf"\b{re.escape(name)}" + ("" if name.endswith(" ") else "(?![a-z])") for name in names))


def named(text: str) -> Component | None:
    """The component that a class without a package belongs to, by how it begins: ``MongoServerError``, ``KafkaJSConnectionError``."""
    found = _beginnings().search(text)
    return _table()["names"][found[0]] if found else None


def of_scheme(address: str) -> Component | None:
    """The component that an address is one of, by its scheme: ``s3://bucket/x``, ``jdbc:mysql://db-1/shop``."""
    scheme = address.partition("//")[0].rstrip(":").lower()
    schemes = _table()["schemes"]
    while scheme:
        if scheme in schemes:
            return schemes[scheme]
        if not scheme.startswith("jdbc:") or scheme.count(":") < 2:
            break
        scheme = scheme.rpartition(":")[0]
    return _table()["java"]["java.sql"] if scheme.startswith("jdbc:") else None


def of_artefact(name: str) -> Component | None:
    """The component that a jar or a wheel holds, by its name without a version."""
    return _longest(_table()["artefacts"], name, "-_")


def _shaped(name: str, language: str | None) -> tuple[str, str | None]:
    """The part of a frame that is looked up, and in which language."""
    for place, of in ((_PYTHON_PLACE, "python"), (_NPM_PLACE, "node"), (_CRATE_PLACE, "rust"), (_GO_PLACE, "go")):
        if found := place.search(name):
            module = found["module"]
            return (
                module.removesuffix(".py").replace("/", ".") if of == "python" else module.replace("-", "_") if of == "rust" else module
            ), of
    if found := _CYTHON.match(name):
        return found["module"], "python"
    if language == "node" or (language is None and "node:" in name):
        found = _NODE_ITSELF.search(name)
        return (found["module"], "node") if found else (name if _NPM_NAME.fullmatch(name) else "", "node")
    if language == "rust" or (language is None and "::" in name):
        typed = _RUST_TYPE.match(name)
        return (typed["type"] if typed else name).replace("::", ":"), "rust"
    if language is None and re.match(r"(?:[\w-]+\.)+[a-z]+/", name) and _longest(_table()["go"], name, "/."):
        return name, "go"
    return name, language


def _without_module(name: str) -> str:
    """`name` without the module or class loader before it, and without where it was moved to when its jar was made."""
    if "/" in name:
        name = _JAVA_MODULE.sub("", name)
    if moved := _MOVED.search(name):
        cuts = [m.end() for m in _MOVED_TO.finditer(name) if m.start() >= moved.start()]
        if cuts:
            return name[cuts[-1] :]
    return name


def _longest(index: Mapping[str, Component], name: str, separators: str) -> Component | None:
    name = name.partition("(")[0] if separators == ".$" else name
    while name:
        found = index.get(name)
        if found is not None:
            return found
        cut = max(map(name.rfind, separators))
        if cut <= 0:
            return None
        name = name[:cut]
    return None
