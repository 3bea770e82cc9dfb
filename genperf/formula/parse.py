"""Text to a checked tree. Python's own grammar reads the text; only allow-listed syntax gets through."""

import ast
import re
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, Literal, NoReturn

import numpy.typing as npt
from msgspec import Struct

from genperf.errors import FormulaError, did_you_mean
from genperf.formula.evaluate import evaluate, spread
from genperf.formula.nodes import CALLABLE, FUNCTIONS, LOGICAL, Call, Name, Node, Number, Text, chain, names_in

# What is read at most: a formula may come from a file of someone else.
#: Far above any formula that is written by hand.
MAX_CHARACTERS = 4000
#: Nesting of brackets and signs; Python's parser and the walks of the tree are recursive.
MAX_DEPTH = 60
#: Sums and products are nested as well: each further part is one level.
MAX_LEVELS = 4 * MAX_DEPTH
#: Size of a number in an exponent: 2⁶⁴ is still a plain number, `9**9**9` is not.
MAX_EXPONENT = 64.0
#: Formulas whose trees are kept. A fit by `auto` reads about ten different ones, some of them a hundred times.
CACHED_FORMULAS = 1024
_TOO_DEEP = f"nested more than {MAX_LEVELS} deep, or a sum or product of more parts"
_SHORTER = "derive parts of it by --let"


def _operator(example: str) -> type[ast.AST]:
    """Return the class of the operator of an example in Python's syntax trees: `ast.Add` of `a + b`."""
    tree = ast.parse(example, mode="eval").body
    return type(tree.ops[0]) if isinstance(tree, ast.Compare) else type(tree.op)  # type: ignore[attr-defined]


_OPERATORS = {
    _operator(f"a {f.symbol} b" if f.least == 2 else f"{f.symbol} a"): name for name, f in FUNCTIONS.items() if f.symbol
}

#: What the value of a formula may be; `any` is also a text.
Value = Literal["any", "number", "number or comparison"]


class Formula(Struct, frozen=True, dict=True):
    """A checked formula."""

    text: str  #: As it was written.
    node: Node  #: Its tree.

    @cached_property
    def names(self) -> frozenset[str]:
        """The names the formula reads."""
        return names_in(self.node)

    @property
    def logical(self) -> bool:
        """Whether the result is true or false rather than a number."""
        return isinstance(self.node, Call) and self.node.function in LOGICAL

    def evaluate(self, columns: Mapping[str, Any]) -> npt.NDArray[Any]:
        """Return the values, broadcast to the columns' shape."""
        return spread(evaluate(self.node, columns), columns.values()).copy()


def parse(
    text: str,
    names: Collection[str] | None = None,
    texts: Collection[str] | None = None,
    max_characters: int = MAX_CHARACTERS,
    value: Value = "any",
) -> Formula:
    """Read a formula over some names, of which some are `texts`; where neither is known, any may be one.

    >>> parse("a*batch/workers + b*log2(workers)").names == {"a", "b", "batch", "workers"}
    True
    >>> parse("__import__('os')", ["workers"])
    Traceback (most recent call last):
    ...
    genperf.errors.FormulaError: unknown function '__import__'
      __import__('os')
      ^^^^^^^^^^
      try: one of log, log2, sqrt, exp, abs, min, max, ceil, floor, where
    """
    names = None if names is None else frozenset(names)
    texts = None if texts is None else frozenset(texts)
    return _read(text, names, texts, max_characters, value)


def names_read(formulas: Iterable[str], texts: Collection[str] | None = None) -> set[str]:
    """Return the names that formulas read; a wrong one is refused where it is read, with what may stand in it."""
    names = set[str]()
    for text in formulas:
        with suppress(FormulaError):
            names |= parse(text, texts=texts).names
    return names


# The same text with the same names gives the same tree; an error is not kept: the cache holds returned values only.
@lru_cache(maxsize=CACHED_FORMULAS)
def _read(text: str, names: frozenset[str] | None, texts: frozenset[str] | None, most: int, value: Value) -> Formula:
    """Read a formula with the parameters of `parse`, which a cache can keep."""
    return _Reader(text, names, texts).read(most, value)


class _Reader:
    """One reading of one text: the checks need the text for the caret."""

    def __init__(self, text: str, names: frozenset[str] | None, texts: frozenset[str] | None) -> None:
        # One line, so that a place in it is a column.
        self.text = re.sub(r"[\r\n\t]", " ", text)
        # The names that may occur, all where it is None, and those of them whose values are texts.
        self.names, self.texts = names, texts or frozenset[str]()
        # Whether every name may be a text, as nothing is known of any.
        self.any_text = names is None and texts is None
        # Word in the place of a name in backquotes → the name (`unquote`).
        self.quoted: dict[str, str] = {}

    def read(self, longest: int, value: Value) -> Formula:
        """Return the checked formula of the text, which has to be a number or a comparison as `value` demands."""
        if not self.text.strip():
            raise FormulaError("the formula is empty", text=self.text or " ", column=0)
        if len(self.text) > longest:
            fault = f"the formula has {len(self.text)} characters; at most {longest} are read"
            raise FormulaError(fault, text=self.text, column=longest)
        # Deep nesting is refused before Python's parser reads it: of brackets, and of signs, also with blanks between.
        depth = signs_in_a_row = 0
        for column, character in enumerate(self.text):
            depth += (character in "([{") - (character in ")]}")
            if character in "+-~":
                signs_in_a_row += 1
            elif character != " ":
                signs_in_a_row = 0
            if max(depth, signs_in_a_row) > MAX_DEPTH:
                raise FormulaError(f"nested more than {MAX_DEPTH} deep", text=self.text, column=column)
        self.source = self.unquote()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.source.lstrip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.explain_syntax(error)
        formula = Formula(self.text.strip(), self.node(tree.body, 0))
        if value == "number" or (value == "number or comparison" and not formula.logical):
            self.checked_number(tree.body, formula.node)
        return formula

    def unquote(self) -> str:
        """Return the text with plain words of the same width, the keys of `quoted`, in place of back-ticked names."""
        prefix = "_q"
        while prefix in self.text:
            prefix += "q"

        def plain(match: re.Match[str]) -> str:
            word = f"{prefix}{len(self.quoted)}".ljust(len(match[0]), "_")
            self.quoted[word] = match[1].replace("``", "`")
            return word

        source = re.sub(r"`((?:[^`]|``)+)`", plain, self.text)
        if "`" in source:
            raise FormulaError("this back-tick has no partner", text=self.text, column=source.index("`"))
        return source

    def explain_syntax(self, error: BaseException) -> NoReturn:
        """Raise an error of Python's parser in words of formulas."""
        if not isinstance(error, SyntaxError):
            raise FormulaError(_TOO_DEEP, text=self.text, column=0, hint=_SHORTER) from None
        column = min((error.offset or 1) - 1, len(self.text)) if error.offset else len(self.text.rstrip())
        message = (error.msg or "").split(". Perhaps")[0]
        if not error.offset or "eof" in message.lower() or "never closed" in message:
            message = "the formula ends too early or a bracket is not closed"
        elif message == "invalid syntax":
            message = "this is not part of a formula"
        hint = "write == to compare" if re.search(r"(?<![<>=!])=(?!=)", self.text) else None
        raise FormulaError(message, text=self.text, column=column, hint=hint) from None

    def refuse(self, node: ast.expr, message: str, hint: str | None = None, width: int | None = None) -> NoReturn:
        """Raise an error that marks a part of the formula."""
        # ast counts bytes of UTF-8.
        encoded = self.source.lstrip().encode()
        before = encoded[: node.col_offset].decode(errors="ignore")
        marked = encoded[node.col_offset : node.end_col_offset].decode(errors="ignore")
        column = len(self.source) - len(self.source.lstrip()) + len(before)
        raise FormulaError(message, text=self.text, column=column, width=width or max(1, len(marked)), hint=hint)

    def node(self, node: ast.expr, depth: int) -> Node:
        """Return our tree of a part of Python's syntax tree, `a*n` as `Call("multiply", (Name("a"), Name("n")))`."""
        if depth > MAX_LEVELS:
            self.refuse(node, _TOO_DEEP, _SHORTER, 1)
        match node:
            case ast.Constant(value=value):
                return self.constant(node, value)
            case ast.Name(id=word):
                return self.name(node, word)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand, depth)
            case ast.Compare():
                return self.comparison(node, depth)
            case ast.Call():
                function, operands = self.function_called(node), node.args
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
                function, operands = _OPERATORS[type(op)], [operand]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                function, operands = _OPERATORS[type(op)], [left, right]
            case ast.BoolOp(op=op, values=operands):
                function = _OPERATORS[type(op)]
            case _:
                self.refuse(node, f"{_NAMES.get(type(node), 'this')} is not allowed in a formula")
        # So many of the operands, the first ones, have to be comparisons; the others numbers.
        tests = {"and": len(operands), "or": len(operands), "not": 1, "where": 1}.get(function, 0)
        arguments = [
            *(self.truth(operand, depth) for operand in operands[:tests]),
            *(self.number(operand, depth) for operand in operands[tests:]),
        ]
        match function, arguments:
            case "negative", [Number(value)]:
                return Number(-value)
            case "power", [_, exponent]:
                value = 0.0 if names_in(exponent) else float(evaluate(exponent, {}))
                if not abs(value) <= MAX_EXPONENT:
                    self.refuse(operands[1], f"this exponent is {value:g}; at most {MAX_EXPONENT:g} is allowed")
            case "and" | "or", _:
                return self.joined(node, function, arguments)
        return Call(function, tuple(arguments))

    def constant(self, node: ast.expr, value: Any) -> Node:
        """Return a number or a text that stands in the formula."""
        if isinstance(value, str):
            return Text(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(node, f"{value!r} is not a number")
        # Larger ones are no floating-point numbers.
        if not abs(value) <= sys.float_info.max:
            self.refuse(node, "this number is too large")
        return Number(float(value))

    def name(self, node: ast.expr, word: str) -> Node:
        """Return a name that the formula may read."""
        name = self.quoted.get(word, word)
        if word in CALLABLE:
            self.refuse(node, f"'{word}' is a function and needs brackets")
        if self.names is not None and name not in self.names:
            names = sorted(self.names)
            names_text = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            self.refuse(node, f"unknown name '{name}'", did_you_mean(name, names) or f"one of {names_text}")
        if word.startswith("__"):
            self.refuse(node, f"unknown name '{name}'")
        return Name(name)

    def number(self, node: ast.expr, depth: int) -> Node:
        """Read a part that must be a number."""
        return self.checked_number(node, self.node(node, depth + 1))

    def checked_number(self, node: ast.expr, read: Node) -> Node:
        """Return a part that was read, and refuse one that is no number."""
        match read:
            case Text(value):
                hint = f"write column == 'text'; a column's name goes in backticks: `{value}`"
                self.refuse(node, "a text can only be compared with a column", hint)
            case Name(name) if name in self.texts:
                hint = f"compare it: {name} == 'value', inside where(…) for a number"
                self.refuse(node, f"'{name}' is a text column", hint)
            case Call(function) if function in LOGICAL:
                self.refuse(node, "a comparison is not a number", "write where(comparison, 1, 0)")
        return read

    def truth(self, node: ast.expr, depth: int) -> Node:
        """Read a part that must be a comparison."""
        read = self.node(node, depth + 1)
        if not (isinstance(read, Call) and read.function in LOGICAL):
            self.refuse(node, "a comparison is needed here", "for example workers > 1")
        return read

    def joined(self, node: ast.expr, function: str, comparisons: Sequence[Node]) -> Node:
        """Join comparisons, and refuse more in a row than the walks of the tree can follow."""
        if len(comparisons) > MAX_LEVELS:
            fault = f"{len(comparisons)} comparisons are joined; at most {MAX_LEVELS} are read"
            self.refuse(node, fault, "derive a column by --let", 1)
        return chain(function, comparisons)

    def comparison(self, node: ast.Compare, depth: int) -> Node:
        """Read comparisons in a row, `a < b < c` as `a < b and b < c`: of numbers, or of a text column with a text."""
        comparisons: list[Node] = []
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in _OPERATORS:
                self.refuse(node, "only < <= > >= == != compare")
            pair = (self.node(left, depth + 1), self.node(right, depth + 1))
            columns = [side.name for side in pair if isinstance(side, Name)]
            has_text = any(isinstance(side, Text) for side in pair)
            if has_text and columns and (self.any_text or columns[0] in self.texts):
                if not isinstance(op, ast.Eq | ast.NotEq):
                    self.refuse(node, "texts are compared with == or !=")
            elif has_text or not self.texts.isdisjoint(columns):
                self.refuse(node, "a text can only be compared with a text column")
            else:
                pair = (self.checked_number(left, pair[0]), self.checked_number(right, pair[1]))
            comparisons.append(Call(_OPERATORS[type(op)], pair))
        return self.joined(node, "and", comparisons)

    def function_called(self, node: ast.Call) -> str:
        """Return the function that is called, with as many plain arguments as it takes."""
        all_of_them = f"one of {', '.join(CALLABLE)}"
        if not isinstance(node.func, ast.Name):
            self.refuse(node.func, "only the functions of the list can be called", all_of_them)
        word = node.func.id
        if word not in CALLABLE:
            self.refuse(node.func, f"unknown function '{word}'", did_you_mean(word, CALLABLE) or all_of_them)
        if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            self.refuse(node, f"{word} takes plain arguments only")
        function = FUNCTIONS[word]
        if not function.least <= len(node.args) <= function.most:
            wanted = str(function.least) if function.least == function.most else f"{function.least} to {function.most}"
            noun = "argument" if wanted == "1" else "arguments"
            self.refuse(node, f"{word} takes {wanted} {noun}, not {len(node.args)}")
        return word


_NAMES: Mapping[type[ast.AST], str] = {
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), "a comprehension"),
    **dict.fromkeys((ast.BinOp, ast.UnaryOp), "this operator"),
    **{ast.Attribute: "attribute access", ast.Subscript: "a subscript", ast.Lambda: "a lambda"},
    **{ast.List: "a list", ast.Tuple: "a tuple", ast.Dict: "a dictionary", ast.Set: "a set"},
    **{ast.NamedExpr: "an assignment", ast.JoinedStr: "a formatted text", ast.Await: "await", ast.Starred: "a star"},
    ast.IfExp: "if … else (write where(test, a, b))",
}
