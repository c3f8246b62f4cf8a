"""A walk over Java serialisation streams that yields plain data: no class is loaded, nothing is executed.

Source: Java Object Serialization Specification, chapter 6 (grammar of protocol version 2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from analyzers.budget import BUDGET
from analyzers.checkpoints.cursor import Cursor, DamagedBytes, java_text

MAGIC = b"\xac\xed\x00\x05"

_NULL, _REFERENCE, _CLASSDESC, _OBJECT, _STRING, _ARRAY, _CLASS, _BLOCK, _END = range(0x70, 0x79)
_RESET, _LONG_BLOCK, _EXCEPTION, _LONG_STRING, _PROXY, _ENUM = range(0x79, 0x7F)
_FIRST_HANDLE = 0x7E0000

_WRITE_METHOD, _SERIALIZABLE, _EXTERNALIZABLE, _BLOCK_DATA = 1, 2, 4, 8

_PRIMITIVES = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}

_MAX_DEPTH = BUDGET.java_depth


@dataclass
class JavaClass:
    """A class description: name, ``serialVersionUID``, flags, fields as (type, name), superclass."""

    name: str
    uid: int
    flags: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)
    parent: JavaClass | None = None


@dataclass
class JavaObject:
    """An object, enum constant or array: `fields` by name, `items` (array elements or what ``writeObject`` wrote), its bytes' extent."""

    class_name: str
    start: int
    end: int = 0
    fields: dict[str, Any] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)

    def long(self, name: str) -> int | None:
        value = self.fields.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


class _Walker:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.handles: list[Any] = []
        self.depth = 0

    def content(self, what: str) -> Any:
        at = self.cursor.pos
        return self.content_of(self.tag(what), at, what)

    def tag(self, what: str) -> int:
        return self.cursor.i8(f"tag of {what}")

    def content_of(self, tag: int, at: int, what: str) -> Any:
        cursor = self.cursor
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise cursor.damage(at, f"{what} nested at most {_MAX_DEPTH} deep", "more")
        try:
            if tag == _NULL:
                return None
            if tag == _REFERENCE:
                return self.reference(at)
            if tag == _OBJECT:
                return self.object(at)
            if tag == _STRING:
                return self.remember(cursor.utf("string"))
            if tag == _LONG_STRING:
                return self.remember(self.long_string(at))
            if tag == _ARRAY:
                return self.array(at)
            if tag == _ENUM:
                return self.enum(at)
            if tag == _CLASS:
                return self.remember(self.class_description("class"))
            if tag in (_CLASSDESC, _PROXY):
                return self.new_class(tag, at)
            if tag == _BLOCK:
                return cursor.take(cursor.i8("length of block data") & 0xFF, "block data")
            if tag == _LONG_BLOCK:
                return cursor.block("block data")
            raise cursor.damage(at, f"tag of {what} (0x70 to 0x7E)", f"0x{tag & 0xFF:02X}")
        finally:
            self.depth -= 1

    def remember(self, value: Any) -> Any:
        self.handles.append(value)
        return value

    def reference(self, at: int) -> Any:
        index = self.cursor.i32("handle") - _FIRST_HANDLE
        if not 0 <= index < len(self.handles):
            raise self.cursor.damage(at, f"handle below {len(self.handles)}", str(index))
        return self.handles[index]

    def long_string(self, at: int) -> str:
        raw = self.cursor.take(self.cursor.size("length of string"), "string")
        try:
            return java_text(raw)
        except UnicodeDecodeError:
            raise self.cursor.damage(at, "string as modified UTF-8", raw[:16].hex()) from None

    def class_description(self, what: str) -> JavaClass | None:
        at = self.cursor.pos
        found = self.content_of(self.tag(f"description of {what}"), at, what)
        if found is not None and not isinstance(found, JavaClass):
            raise self.cursor.damage(at, f"description of {what}", type(found).__name__)
        return found

    def new_class(self, tag: int, at: int) -> JavaClass:
        cursor = self.cursor
        if tag == _PROXY:
            description = JavaClass("proxy", 0, _SERIALIZABLE)
            self.remember(description)
            for _ in range(cursor.count("number of interfaces", 2)):
                cursor.utf("interface name")
        else:
            description = JavaClass(cursor.utf("class name"), cursor.i64("serialVersionUID"))
            self.remember(description)
            description.flags = cursor.i8("class flags")
            for _ in range(cursor.i16("number of fields") & 0xFFFF):
                kind = chr(cursor.i8("field type") & 0xFF)
                description.fields.append((kind, cursor.utf("field name")))
                if kind in "L[":
                    self.content("field class")
                elif kind not in _PRIMITIVES:
                    raise cursor.damage(at, "field type", repr(kind))
        self.annotation("class annotation")
        description.parent = self.class_description("superclass")
        return description

    def annotation(self, what: str) -> list[Any]:
        items: list[Any] = []
        while True:
            at = self.cursor.pos
            tag = self.tag(what)
            if tag == _END:
                return items
            items.append(self.content_of(tag, at, what))

    def object(self, at: int) -> JavaObject:
        description = self.class_description("object")
        if description is None:
            raise self.cursor.damage(at, "class of object", "null")
        made: JavaObject = self.remember(JavaObject(description.name, at))
        lineage: list[JavaClass] = []
        step: JavaClass | None = description
        while step is not None and len(lineage) <= _MAX_DEPTH:
            lineage.append(step)
            step = step.parent
        for level in reversed(lineage):
            self.class_data(level, made)
        made.end = self.cursor.pos
        return made

    def class_data(self, level: JavaClass, made: JavaObject) -> None:
        if level.flags & _SERIALIZABLE:
            for kind, name in level.fields:
                made.fields[name] = self.value(kind, name)
            if level.flags & _WRITE_METHOD:
                made.items += self.annotation(f"data of {level.name}")
        elif level.flags & _EXTERNALIZABLE:
            if not level.flags & _BLOCK_DATA:
                found = f"externalizable {level.name} of protocol 1, whose length only its class knows"
                raise self.cursor.damage(self.cursor.pos, "block data", found)
            made.items += self.annotation(f"data of {level.name}")

    def value(self, kind: str, name: str) -> Any:
        cursor = self.cursor
        if kind == "J":
            return cursor.i64(name)
        if kind == "I":
            return cursor.i32(name)
        if kind == "Z":
            return cursor.i8(name) != 0
        if kind == "B":
            return cursor.i8(name)
        if kind == "S":
            return cursor.i16(name)
        if kind in _PRIMITIVES:
            return cursor.take(_PRIMITIVES[kind], name)
        return self.content(name)

    def array(self, at: int) -> Any:
        cursor = self.cursor
        description = self.class_description("array")
        if description is None or not description.name.startswith("["):
            raise cursor.damage(at, "class of array", "null" if description is None else description.name)
        made: JavaObject = self.remember(JavaObject(description.name, at))
        kind = description.name[1:2]
        width = _PRIMITIVES.get(kind, 1)
        size = cursor.count("array length", width)
        if kind in _PRIMITIVES:
            # Kept as raw bytes: nobody here needs the numbers of an int[], and a byte[] is what carries a split's position.
            made.fields["raw"] = cursor.take(size * width, "array")
        else:
            for _ in range(size):
                made.items.append(self.content("array element"))
        made.end = cursor.pos
        return made

    def enum(self, at: int) -> JavaObject:
        description = self.class_description("enum")
        made: JavaObject = self.remember(JavaObject("" if description is None else description.name, at))
        made.fields["constant"] = self.content("enum constant")
        made.end = self.cursor.pos
        return made


def read_object(cursor: Cursor, what: str) -> Any:
    """The first object of the stream at `cursor`, which is left behind its last byte.

    ``JavaObject`` for objects, arrays and enums, ``str``, ``None``. Raises `DamagedBytes`, also for what only the class could skip.
    """
    at = cursor.pos
    magic = cursor.take(4, f"{what} (Java stream)")
    if magic != MAGIC:
        raise cursor.damage(at, f"{what} as a Java stream (aced0005)", magic.hex())
    return _Walker(cursor).content(what)


def object_in(raw: bytes) -> JavaObject | None:
    """The object that `raw` holds, or ``None`` when it is no Java stream or cannot be walked."""
    if not raw.startswith(MAGIC):
        return None
    try:
        found = read_object(Cursor(raw), "object")
    except DamagedBytes:
        return None
    return found if isinstance(found, JavaObject) else None
