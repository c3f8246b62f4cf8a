"""Fewer calls from Python to the JVM: what py4j asks again each time is asked once.

A rule is a few hundred column expressions. For each of them py4j asks which class `functions` is, then which member of it is meant, then
calls it: most of these calls are for names that never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER
from py4j.java_collections import ListConverter
from py4j.java_gateway import JavaClass, JavaMember, JVMView

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway


class _RememberedClass(JavaClass):  # type: ignore[misc]  # py4j has no types
    """A class whose static methods are looked up once."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            self.__dict__[name] = _remembered(found) if (self._fqn, name) in _SAME_EACH_TIME else found
        return found


_SAME_EACH_TIME = {("org.apache.spark.sql.functions", "col"), ("org.apache.spark.sql.functions", "lit")}
"""Static methods that give an equal object, which never changes, for equal arguments: a rule names the same columns again and again."""


def _remembered(member: JavaMember) -> Callable[..., Any]:
    """`member`, called once for each plain value."""
    known: dict[tuple[type, Any], Any] = {}

    def call(value: Any) -> Any:
        if not isinstance(value, (str, int, float, bool)):
            return member(value)
        key = (type(value), value)  # 1, 1.0 and True are equal
        found = known.get(key)
        if found is None:
            found = known[key] = member(value)
        return found

    return call


class _InBatches:
    """Objects of the JVM that are no longer referenced here are released many at once, not in a message for each."""

    def __init__(self, gateway: JavaGateway) -> None:
        self._client = gateway._gateway_client
        self._one = self._client.garbage_collect_object
        self._jvm = gateway.jvm
        self._held = gateway.java_gateway_server.getGateway().getBindings().keySet()

    def __call__(self, target: str, enqueue: bool = True) -> None:
        """Hears of one object, in any thread and in the middle of anything; without `enqueue`, in the thread that talks to the JVM."""
        if enqueue:
            self._one(target)
            return
        names = [target, *self._others()]
        if len(names) < _FEW:
            for name in names:
                self._one(name, False)
        else:
            with suppress(Exception):  # the JVM may have gone, and then holds nothing
                self._held.removeAll(self._jvm.org.apache.commons.text.StringTokenizer(" ".join(names)).getTokenList())

    def _others(self) -> Iterator[str]:
        """The next of those that wait."""
        waiting = self._client.finalizer_deque
        for _ in range(_MOST_LET_GO):
            try:
                task = waiting.pop()
            except IndexError:
                return
            if task == SHUTDOWN_FINALIZER_WORKER or task[0] is not self._client:
                waiting.append(task)
                return
            yield task[1]


_FEW = 10
"""To let go many takes three objects, which are to be let go then."""
_MOST_LET_GO = 500


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
    client.garbage_collect_object = _InBatches(gateway)
    # nothing of NumPy is handed over, and to find that out imports a module for each argument
    # (a list of its own: py4j shares one among all JVMs of a process, and this one may end while Spark starts)
    client.converters = [_ListsAtOnce(client), *(each for each in client.converters if not type(each).__name__.startswith("Numpy"))]
