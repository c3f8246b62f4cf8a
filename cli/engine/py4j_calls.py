"""Fewer calls from Python to the JVM: what py4j asks again each time is asked once, and only frames are given back.

A rule is a few hundred column expressions. For each of them py4j asks which class `functions` is, then which member of it is meant, then
calls it, then tells that the result is no longer needed: measured 27,900 calls for 24 rules, most of them for names that never change.
A column is small; a frame holds the rows of its table, and of all frames together the heap would be full.
"""

from __future__ import annotations

import threading
import weakref
from functools import wraps
from typing import TYPE_CHECKING, Any

from py4j.java_collections import ListConverter
from py4j.java_gateway import GatewayProperty, JavaClass, JavaMember, JVMView

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway, JavaObject


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


class _Collecting(threading.local):
    """Whether this thread collects or hands over rows: what stands for the transfer in Java holds them."""

    now = False


_collecting = _Collecting()


class _GivesBackWhatCollects(GatewayProperty):  # type: ignore[misc]  # py4j has no types
    """Java objects are given back one by one only by a thread that collects."""

    @property
    def enable_memory_management(self) -> bool:
        return _collecting.now

    @enable_memory_management.setter
    def enable_memory_management(self, _wanted: bool) -> None:
        pass


def spare_calls(gateway: JavaGateway) -> None:
    """Make `gateway` remember classes and methods, and keep Java objects for as long as its JVM lives, which is one command long: all but
    frames and collected rows, which go when nobody in Python has them any more."""
    from pyspark import RDD
    from pyspark.sql import SparkSession
    from pyspark.sql.classic.dataframe import DataFrame
    from pyspark.sql.group import GroupedData

    gateway.jvm.__class__ = _RememberingView
    gateway.gateway_property.__class__ = _GivesBackWhatCollects
    client = gateway._gateway_client
    # nothing of NumPy is handed over, and to find that out imports a module for each argument
    # (a list of its own: py4j shares one among all JVMs of a process, and this one may end while Spark starts)
    client.converters = [_ListsAtOnce(client), *(each for each in client.converters if not type(each).__name__.startswith("Numpy"))]
    if not hasattr(DataFrame.__init__, "__wrapped__"):  # an engine before this one did so
        for kind in (DataFrame, GroupedData):
            _give_back(kind)
        _give_back_transfers(DataFrame, "_collect_as_arrow")
        _give_back_transfers(RDD, "collect")
        _give_back_transfers(SparkSession, "_create_from_arrow_table")


def _give_back(kind: Any) -> None:
    """Let each object of `kind` take the Java object that it is made with along when it goes."""
    made = kind.__init__

    @wraps(made)
    def init(self: object, java: JavaObject, *rest: Any, **named: Any) -> None:
        made(self, java, *rest, **named)
        weakref.finalize(self, java._detach).atexit = False

    kind.__init__ = init


def _give_back_transfers(kind: Any, method: str) -> None:
    """Let `method`, which collects or hands over rows, give back what they were transferred with: in Java that holds all of them."""
    collect = getattr(kind, method)

    @wraps(collect)
    def collected(*arguments: Any, **named: Any) -> Any:
        _collecting.now = True
        try:
            return collect(*arguments, **named)
        finally:
            _collecting.now = False

    setattr(kind, method, collected)
