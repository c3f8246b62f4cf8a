"""One exception of a chain, and the chain, of any language."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Link:
    """An exception: `kind` is its class (empty where a line names none), `message` all of its words."""

    kind: str
    message: str
    frames: list[str] = field(default_factory=list)  # class.method, or what stands for it; innermost first
    printed: list[str] = field(default_factory=list)  # the same as they were printed, with jars, files and lines
    code: str | None = None  # an error code that stands beside it, of Node

    @property
    def simple(self) -> str:
        """The class without its package."""
        return self.kind.replace("::", ".").rpartition(".")[2].rpartition("$")[2] if self.kind else ""

    @property
    def said(self) -> str:
        """Class and message as one."""
        return f"{self.kind}: {self.message}" if self.kind and self.message else self.kind or self.message


@dataclass
class Failure:
    """A chain, outermost first, and where it was read from."""

    language: str  # java python go rust node dotnet; empty where nothing says it
    chain: list[Link]
    text: str
