"""The reference of the errors: each class with its exit code, and every message that the code can raise with it.

A message names the thing and the way out. Messages are read from the source: what is put into one when it is raised
stands in it in capitals, such as PATH.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from page_text import paragraphs, plain, table

import debatebench
from debatebench.shared import errors
from debatebench.shared.errors import DebatebenchError

_PACKAGE = Path(debatebench.__file__).parent
_NAME = re.compile(r"[A-Za-z_]\w*")
# What is put behind a sentence begins with a space of its own.
_SENTENCE_THEN_HINT = re.compile(r"([a-z.])([A-Z][A-Z_]+)\Z")
_NO_NAME = {"str", "len", "repr", "int", "float", "sorted", "map", "join", "names", "self", "cls", "or", "and", "if"}


def error_page() -> str:
    """The page: exit codes, then every class of errors with its messages."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    classes = error_classes()
    yield from ("# Errors", "")
    yield from (
        "A command that fails prints one sentence, which names the thing and the way out, and ends with an exit code. "
        "What differs from case to case stands here in capitals.",
        "",
        "## Exit codes",
        "",
    )
    codes: dict[int, list[str]] = {}
    for each in classes.values():
        codes.setdefault(each.exit_code, []).append(each.__name__)
    rows = [(f"`{number}`", ", ".join(f"[{n}](#{n.lower()})" for n in codes[number])) for number in sorted(codes)]
    yield from table(("code", "errors"), [("`0`", "done"), *rows])
    messages = error_messages()
    for name, each in classes.items():
        yield from (f"## {name}", "", f"Exit code {each.exit_code}.", "")
        for paragraph in paragraphs(inspect.getdoc(each) or ""):
            yield from (paragraph, "")
        found = [(plain(text), plain(file)) for text, file in messages.get(name, ())]
        yield from table(("message", "raised in"), found)
    yield from ("## In a configuration file { #configuration }", "")
    yield from ("The sentence is: FILE: KEY: found VALUE; allowed: what stands here.", "")
    yield from table(("allowed", "raised in"), [(plain(text), plain(file)) for text, file in messages[".refuse"]])


def error_classes() -> dict[str, type[DebatebenchError]]:
    """Every class of our errors by name, in the order of the tree, and the ones of other rooms after it."""
    for module in pkgutil.walk_packages([str(_PACKAGE)], "debatebench."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, type[DebatebenchError]] = {}
    for each in vars(errors).values():
        if isinstance(each, type) and issubclass(each, DebatebenchError):
            found[each.__name__] = each
    for each in sorted(_subclasses(DebatebenchError), key=lambda each: each.__name__):
        if each.__module__.startswith("debatebench.") and not each.__name__.startswith("_"):
            found.setdefault(each.__name__, each)
    return found


def _subclasses(kind: type[DebatebenchError]) -> Iterator[type[DebatebenchError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def error_messages() -> dict[str, list[tuple[str, str]]]:
    """Class → (message, file in which it is raised), by file; `.refuse` → what configuration files may hold."""
    names, found = {*error_classes()}, dict[str, set[tuple[str, str]]]()
    for path in sorted(_PACKAGE.rglob("*.py")):
        file = path.relative_to(_PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                kind = _called(node.func)
                text = _template(node.args[0]) if kind in names or kind == ".refuse" else None
                if text and " " in text:
                    found.setdefault(kind, set()).add((" ".join(text.split()), file))
    return {kind: sorted(each, key=lambda pair: (pair[1], pair[0])) for kind, each in found.items()}


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return f".{function.attr}" if isinstance(function, ast.Attribute) and function.attr == "refuse" else ""


def _template(node: ast.expr) -> str | None:
    """The text of a string, with the names of what is put into it in capitals; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return _SENTENCE_THEN_HINT.sub(r"\1 \2", "".join(map(_part, node.values)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _template(node.left), _template(node.right)
        return (left or _place(node.left)) + (right or _place(node.right)) if left or right else None
    return None


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return _place(node.value) if isinstance(node, ast.FormattedValue) else _place(node)


def _place(node: ast.expr) -> str:
    """A word in capitals for a value: the last name in its expression."""
    if isinstance(node, ast.IfExp):
        either = [_template(each) for each in (node.body, node.orelse)]
        if all(each is not None for each in either):
            return "/".join(str(each) for each in either if each)
    words = [word for word in _NAME.findall(ast.unparse(node)) if word.lower() not in _NO_NAME]
    return words[-1].strip("_").upper() if words else "VALUE"
