"""Where in a JSON object the values stand that have one of many names: looked for once per shape of object, not once per object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Path = tuple[str, ...]
_WRAPPERS = ("_source", "jsonPayload", "fields", "result", "record", "attributes", "log_processed", "structured", "json", "labels")
_KEPT = 1024  # shapes; what has more has keys that are data


class Shape:
    """What all objects with the same keys, nested ones too, have in common. `value` is one of them."""

    __slots__ = ("_paths", "_value", "keys", "mute", "places")

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = _emptied(value)
        self.keys = list(value)
        self.mute: bool | None = None  # whether no object of this shape is of use, once somebody found out
        inside = [(key,) for key in _WRAPPERS if isinstance(value.get(key), dict)]
        self.places: list[Path] = [(), *inside]  # of the object and of those inside of it that merely wrap, in the order of their weight
        self.places += [(*path, key) for path in inside for key in _WRAPPERS if isinstance(at(value, path).get(key), dict)]
        self._paths: dict[int, tuple[tuple[str, ...], list[Path]]] = {}  # by identity: names are constants, and many

    def paths(self, names: tuple[str, ...]) -> list[Path]:
        """Where values stand that have one of these dotted names, first the first name in the outermost object."""
        found = self._paths.get(id(names))
        if found is None:
            below = ((place, _path_of(at(self._value, place), name)) for place in self.places for name in names)
            found = self._paths[id(names)] = (names, [(*place, *path) for place, path in below if path is not None])
        return found[1]


def at(value: Any, path: Path) -> Any:
    """What stands at `path`, which must be one of the object's shape."""
    for key in path:
        value = value[key]
    return value


def _path_of(value: dict[str, Any], name: str) -> Path | None:
    """By its dotted name, as one key or nested."""
    if name in value:
        return (name,)
    head, _, rest = name.partition(".")
    inner = value.get(head) if rest else None
    below = _path_of(inner, rest) if isinstance(inner, dict) else None
    return None if below is None else (head, *below)


def _emptied(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _emptied(inner) if isinstance(inner, dict) else None for key, inner in value.items()}


def _keys(value: dict[str, Any]) -> tuple[Any, ...]:
    return tuple([(key, _keys(inner)) if isinstance(inner, dict) else key for key, inner in value.items()])


_shapes: dict[tuple[Any, ...], Shape] = {}


class Shaped:
    """An object whose values are found by the paths of its shape."""

    __slots__ = ("shape", "value")

    def __init__(self, value: dict[str, Any]) -> None:
        keys = _keys(value)
        shape = _shapes.get(keys)
        if shape is None:
            if len(_shapes) >= _KEPT:
                _shapes.clear()
            shape = _shapes[keys] = Shape(value)
        self.value, self.shape = value, shape

    def named(self, names: tuple[str, ...]) -> Iterator[tuple[Path, Any]]:
        """Values that have one of `names`, with their paths; what is null has none."""
        value = self.value
        for path in self.shape.paths(names):
            found = value[path[0]] if len(path) == 1 else at(value, path)
            if found is not None:
                yield path, found

    def first(self, names: tuple[str, ...], kinds: type | tuple[type, ...] = str) -> Any:
        """The first value of one of `kinds` that is not empty text; None if there is none."""
        value = self.value
        for path in self.shape.paths(names):
            found = value[path[0]] if len(path) == 1 else at(value, path)
            if found is not None and isinstance(found, kinds) and found != "":
                return found
        return None
