"""The house in numbers, as its imports draw it: rooms, arrows between them, circles; how long rules are. `python .ci/house.py [ROOT]`."""

import ast
import statistics
import sys
from pathlib import Path

ROOT = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent


def modules():
    for top in ("analyzers", "cli"):
        for path in (ROOT / top).rglob("*.py"):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


PATHS = dict(modules())


def room(module):
    """A folder below analyzers/ or cli/; a file that lies beside the folders is one of its own."""
    return ".".join(module.split(".")[:2])


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (full if (full := f"{node.module}.{name.name}") in PATHS else node.module for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def circle(graph):
    """What is left when nodes without arrows to what is left are taken away, again and again."""
    left = dict(graph)
    while free := [node for node, targets in left.items() if not targets & left.keys()]:
        for node in free:
            del left[node]
    return sorted(left)


def main():
    of_modules = {module: {name for name in imported(path) if name in PATHS} - {module} for module, path in PATHS.items()}
    rooms = {room(module): set() for module in PATHS}
    for module, targets in of_modules.items():
        rooms[room(module)] |= {room(target) for target in targets} - {room(module)}
    print(f"rooms {len(rooms)}, arrows {sum(map(len, rooms.values()))}")
    print(f"rooms in or behind a circle: {', '.join(circle(rooms)) or 'none'}")
    without_packages = {module: targets for module, targets in of_modules.items() if PATHS[module].name != "__init__.py"}
    print(f"modules in or behind a circle: {len(circle(without_packages))}")
    lines = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "analyzers/rules").glob("*_*.py"))
    print(f"rules {len(lines)}, lines: median {statistics.median(lines):g}, longest {lines[-1]}, all {sum(lines)}")


main()
