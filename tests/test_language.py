"""How the code speaks: plain names, numbers with a home, docstrings that say more than annotations, few arguments."""

import ast
import re
from collections.abc import Iterable, Iterator

from helpers import PACKAGE, nodes, trees

#: Words that name nothing.
EMPTY_WORDS = {"found", "own", "said", "seen", "missed", "told", "asked"}
#: Arguments without an options object; the doors and the commands are exempt.
MOST_ARGUMENTS = 8
#: A heading of a docstring's section that describes names.
SECTION = r"(?m)^(?:Parameters|Attributes|Returns|Yields)\n-+\n"
#: An entry of such a section without a description, a shape or a set of values.
BARE_ENTRY = r"(?m)^(?!.*(?:shape|\{))(\w+(?:, \w+)* : .*)(?=\n(?! )|\Z)"
#: A result for what is left out, which a docstring gives as `None for another text`, or says where.
RIDDLE = r"(?:None|[Ee]mpty|[Nn]othing|none) of (?:no|none|another|any other|others|several|fewer)\b"
#: What JavaScript declares: variables, functions and classes, also by taking apart; parameters of arrow functions.
DECLARED = r"\b(?:const|let|function|class)\s+(\w+|\[[^\]]*\]|\{[^}]*\})|\(([^()]*)\)\s*=>|\b(\w+)\s*=>"
Function = ast.FunctionDef | ast.AsyncFunctionDef


#: Nodes that give a name, and the field that holds it.
NAMING = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), "name"),
    **{ast.Name: "id", ast.arg: "arg", ast.Attribute: "attr", ast.keyword: "arg", ast.alias: "asname"},
}


def identifiers(syntax: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the names that a module gives: variables, parameters, functions, classes, attributes, fields."""
    for node in syntax:
        field = NAMING.get(type(node))
        if field is not None:
            name = getattr(node, field) or getattr(node, "name", "").rpartition(".")[2]
            yield getattr(node, "lineno", 0), name


def words_of(name: str) -> list[str]:
    """Return the words of a name: `snake_case` or `camelCase`."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_")


def functions(tree: ast.Module) -> Iterator[tuple[Function, bool]]:
    """Yield the functions of a module and the methods of its classes; whether each is a method."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node, False
        elif isinstance(node, ast.ClassDef):
            yield from ((inner, True) for inner in node.body if isinstance(inner, Function))


def arguments(function: Function, method: bool) -> list[str]:
    """Return the names of a function's arguments, without the instance of a method."""
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    bound = method and not any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)
    return names[1:] if bound else names


def is_command(function: Function) -> bool:
    """Say whether a function is a command of the command line, whose arguments are its options."""
    return any("command" in ast.unparse(d) for d in function.decorator_list)


def numeric(node: ast.expr | None) -> bool:
    """Say whether an expression is a number, or a sequence of numbers."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(numeric(e) for e in node.elts)
    if isinstance(node, ast.UnaryOp):
        return numeric(node.operand)
    if isinstance(node, ast.BinOp):
        return numeric(node.left) or numeric(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def unexplained(path: str, tree: ast.Module) -> Iterator[str]:
    """Yield a module's numeric constants without a comment above them, or above the constants right before them."""
    lines = (PACKAGE / path).read_text(encoding="utf-8").splitlines()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and numeric(node.value):
            above = node.lineno - 1
            while lines[above].strip() and not lines[above].startswith("#"):
                above -= 1
            if not lines[above].startswith("#"):
                yield lines[node.lineno - 1]


def test_no_name_is_an_empty_word() -> None:
    assert not [
        f"{path}:{line}: {name}"
        for path, syntax in nodes().items()
        for line, name in identifiers(syntax)
        if EMPTY_WORDS & set(name.lower().split("_"))
    ]


def test_no_name_of_the_page_is_an_empty_word() -> None:
    empty = []
    for path in sorted(PACKAGE.rglob("*.js")):
        declared = " ".join("".join(parts) for parts in re.findall(DECLARED, path.read_text(encoding="utf-8")))
        names = re.findall(r"[A-Za-z_]\w*", declared)
        assert names, path.name
        empty += [f"{path.name}: {name}" for name in names if EMPTY_WORDS & set(words_of(name))]
    assert not empty


def test_a_constant_has_its_reason() -> None:
    assert not {path: bare for path, tree in trees().items() if (bare := list(unexplained(path, tree)))}


def test_settings_are_objects_only_where_one_is_passed() -> None:
    """A polish and a hint's prior are passed by callers, and the page is given the rules of verdicts and distances."""
    passed = {"PolishSettings", "HintSettings", "VerdictSettings", "CombinationSettings"}
    classes = {n.name for syntax in nodes().values() for n in syntax if isinstance(n, ast.ClassDef)}
    assert {name for name in classes if name.endswith("Settings")} <= passed


def test_many_arguments_are_options() -> None:
    doors = {
        "fitting/door.py": {"fit"},
        "search/suggest.py": {"suggest"},
        "search/compare.py": {"compare"},
        "estimator.py": {"__init__"},
        "asking/tables.py": {"ask"},
    }
    assert not [
        f"{path}:{f.lineno}: {f.name}"
        for path, tree in trees().items()
        for f, method in functions(tree)
        if len(arguments(f, method)) > MOST_ARGUMENTS and not is_command(f) and f.name not in doors.get(path, set())
    ]


def test_a_private_function_has_one_sentence() -> None:
    """An equation may follow it, indented."""
    assert not [
        f"{path}:{f.lineno}: {f.name}"
        for path, syntax in nodes().items()
        for f in syntax
        if isinstance(f, Function) and re.match("_(?!_)", f.name) and re.search(SECTION, ast.get_docstring(f) or "")
    ]


def test_a_docstring_says_for_what_nothing_is_returned() -> None:
    assert not {
        path: riddles for path in trees() if (riddles := re.findall(RIDDLE, (PACKAGE / path).read_text("utf-8")))
    }


def test_a_docstring_repeats_no_annotation() -> None:
    """An entry says a shape, a set of values, or something in words."""
    repeated = []
    for path, syntax in nodes().items():
        for node in syntax:
            if isinstance(node, Function | ast.ClassDef):
                for section in re.split(SECTION, ast.get_docstring(node) or "")[1:]:
                    repeated += [f"{path}:{node.lineno}: {entry}" for entry in re.findall(BARE_ENTRY, section)]
    assert not repeated
