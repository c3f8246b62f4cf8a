"""Fewer calls from Python to the JVM: what py4j asks again each time is asked once.

A rule is a few hundred column expressions. For each of them py4j asks which class `functions` is, then which member of it is meant, then
calls it: most of these calls are for names that never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_collections import ListConverter
from py4j.java_gateway import JavaClass, JavaMember, JVMView

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


class _RememberedClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """A class whose static methods are looked up once."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = found
        return found


class _RememberingView(JVMView):  # type: ignore[misc]  # py4j has no types
    """A view whose classes are looked up once: a short name is otherwise searched for in every jar, per import, at each use."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaClass):
            found = self.__dict__[name] = _RememberedClass(found._fqn, found._gateway_client)
        return found


_MOST_AT_ONCE = 10  # elements that `java.util.List.of` takes one by one


class _ListsAtOnce(ListConverter):  # type: ignore[misc]  # py4j has no types
    """A short list goes over in one call, not in one for each element."""

    def __init__(self, client: Any) -> None:
        self._lists = _RememberedClass("java.util.List", client)

    def can_convert(self, object: Any) -> bool:
        short = isinstance(object, (list, tuple)) and len(object) <= _MOST_AT_ONCE
        return short and all(each is not None and not isinstance(each, (list, tuple, dict, set)) for each in object)

    def convert(self, object: Any, gateway_client: Any) -> Any:
        return self._lists.of(*object)


def cache_py4j_lookups(gateway: JavaGateway) -> None:
    """Make `gateway` remember classes and methods, and hand over short lists in one call."""
    gateway.jvm.__class__ = _RememberingView
    client = gateway._gateway_client
    # nothing of NumPy is handed over, and to find that out imports a module for each argument
    # (a list of its own: py4j shares one among all JVMs of a process, and this one may end while Spark starts)
    client.converters = [_ListsAtOnce(client), *(each for each in client.converters if not type(each).__name__.startswith("Numpy"))]
