"""The structure of the package: what docs/architecture.md says of layers, and import-linter does not see."""

import ast
import re
from pathlib import Path

import dmsjournal

PACKAGE = Path(dmsjournal.__file__).parent


def modules() -> dict[str, Path]:
    """The files of the package, by the names of their modules."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports() -> dict[str, set[str]]:
    """What each module imports of the package: inside functions, for type checkers and by name too."""
    known, found = modules(), {}
    for name, file in known.items():
        targets: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                targets |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Constant) and re.fullmatch(r"dmsjournal[\w.]+:\w+", str(node.value)):
                targets.add(str(node.value).partition(":")[0])
        deepest = {target for target in targets if not any(other.startswith(f"{target}.") and other in known for other in targets)}
        found[name] = deepest & (known.keys() - {name})
    return found


def test_the_root_holds_the_public_api_and_nothing_else() -> None:
    assert sorted(file.name for file in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py", "errors.py", "journal.py"]


def test_no_modules_import_one_another_in_a_circle() -> None:
    left = imports()
    while free := {name for name, needs in left.items() if not needs & left.keys()}:
        left = {name: needs for name, needs in left.items() if name not in free}
    assert not left, "each of these is in a circle, or needs one that is"


# Words of a published format, which has them as we have: events of the CDC format and of Arrow are no values of the journal.
PUBLISHED = {"ChangeEvent", "Delete", "Deleted", "Source", "Updated"}


def test_no_class_has_the_name_of_another() -> None:
    public: dict[str, set[str]] = {}
    for name, file in modules().items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                public.setdefault(node.name, set()).add(name)
    assert {name: places for name, places in public.items() if len(places) > 1 and name not in PUBLISHED} == {}


def test_no_test_changes_the_clock_of_other_threads() -> None:
    """A library's thread that sleeps in a loop would run free, and fill a list: give the module under test its own `time`."""
    changed = re.compile(
        r"""setattr\(\s*(?:"(?:[\w.]+\.)?(?:time|asyncio|threading)\.\w|(?:[\w.]+\.)?(?:time|asyncio|threading), ")"""
    )
    tests = Path(__file__).parents[1]
    assert [str(path.relative_to(tests)) for path in sorted(tests.rglob("*.py")) if changed.search(path.read_text("utf-8"))] == []
