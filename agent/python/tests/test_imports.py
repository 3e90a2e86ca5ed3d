"""The package's modules do not import each other in a circle, and adapters do not import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ADAPTERS = ("graphdbg._torch", "graphdbg._onnxruntime", "graphdbg._jax", "graphdbg._boosting")


def module_files(package: Path) -> dict[str, Path]:
    """The files of all modules, by the module's full name."""
    files = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def import_statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports, including those in functions, but not those for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not is_type_checking(node):
            yield from import_statements(node)


def imported(name: str, files: dict[str, Path]) -> set[str]:
    """The modules of the package that a module imports."""
    package = name if files[name].name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for statement in import_statements(ast.parse(files[name].read_text())):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
            continue
        base = statement.module or ""
        if statement.level:
            parents = package.split(".")[: len(package.split(".")) - statement.level + 1]
            base = ".".join([*parents, base] if base else parents)
        # `from a import b` imports the module a.b if it exists, and otherwise only a.
        found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in files else base for alias in statement.names}
    return {module for module in found if module in files and module != name}


@pytest.fixture(scope="module")
def imports(stage: Path) -> dict[str, set[str]]:
    files = module_files(stage / "graphdbg")
    return {name: imported(name, files) for name in files}


def find_cycle(imports: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next and the last is the first; [] if there are none."""
    finished: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in finished:
            return []
        for other in sorted(imports[name]):
            cycle = visit(other, [*path, name])
            if cycle:
                return cycle
        finished.add(name)
        return []

    return next(filter(None, (visit(name, []) for name in sorted(imports))), [])


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    assert len(imports) > 40
    assert find_cycle(imports) == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_adapters_do_not_import_each_other(imports: dict[str, set[str]], adapter: str) -> None:
    others = tuple(f"{name}." for name in ADAPTERS if name != adapter)
    modules = [name for name in imports if f"{name}.".startswith(f"{adapter}.")]
    assert len(modules) > 5
    assert [name for name in modules if any(f"{i}.".startswith(others) for i in imports[name])] == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_shared_modules_do_not_import_an_adapter(imports: dict[str, set[str]], adapter: str) -> None:
    """Except _autoload, which starts the adapters, and the command line."""
    shared = [name for name in imports if name.count(".") == 1 and name not in (*ADAPTERS, "graphdbg._autoload")]
    assert [name for name in shared if any(f"{i}.".startswith(f"{adapter}.") for i in imports[name])] == []
