"""The source of a kernel as Python that computes what Numba compiles: the same lines, other operators.

A kernel's file is parsed, and each operator, call and assignment of the kernel becomes a call of `arithmetic` or `live`
at the same place in the file, so that a debugger, coverage and tracebacks show the author's lines. Variables have
one type in machine code: one that is somewhere given a literal float holds float64 everywhere.
"""

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any

from hutch.core.errors import PluginError

_TOOLS = ".numba"  # no name of Python's, so that no debugger mistakes it for the author's
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.MatMult: "matmul", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _literal(node: ast.expr | None) -> float | None:
    """The number that an expression spells; None for any other expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _literal(node.operand)
        return None if found is None else -found
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    return None


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment with their values, as far as both are spelled out."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for each, own in zip(target.elts, value.elts, strict=True):
            yield from _pairs(each, own)
    else:
        yield target, value


def _literals(function: ast.FunctionDef) -> tuple[dict[str, float], float | None]:
    """The literal that is assigned to each variable, a float before an integer; and one that is returned."""
    found: dict[str, float] = {}
    returned: float | None = None
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for each, value in _pairs(target, node.value):
                    number = _literal(value)
                    if number is not None and isinstance(each, ast.Name):
                        before = found.get(each.id)
                        found[each.id] = before if isinstance(before, float) else number
        elif isinstance(node, ast.Return) and (number := _literal(node.value)) is not None:
            returned = returned if isinstance(returned, float) else number
    return found, returned


class _Typed(ast.NodeTransformer):
    """Replaces what Numba understands otherwise than CPython."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._literals, self._returned = _literals(function)
        self._count = 0

    def _new(self) -> str:
        """A name for a value that is used twice."""
        self._count += 1
        return f".{self._count}"

    def _call(self, name: str, *arguments: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(_load(_TOOLS), name, ast.Load()), list(arguments), [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return self._call(_OPERATORS[type(node.op)], node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        plain = isinstance(node.op, ast.Not) or _literal(node) is not None
        return node if plain else self._call(_OPERATORS[type(node.op)], node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if any(type(op) not in _OPERATORS for op in node.ops):  # `is`, `in`
            return node
        left, found = node.left, []
        for k, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            following = right
            if k + 1 < len(node.ops):
                name = self._new()
                right, following = ast.NamedExpr(_store(name), right), _load(name)
            found.append(self._call(_OPERATORS[type(op)], left, right))
            left = following
        return found[0] if len(found) == 1 else ast.BoolOp(ast.And(), found)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        one, other = _literal(node.body), _literal(node.orelse)
        self.generic_visit(node)
        if one is not None and other is None:
            node.orelse = self._call("joined", node.orelse, ast.Constant(one))
        elif other is not None and one is None:
            node.body = self._call("joined", node.body, ast.Constant(other))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        node.func = self._call("callee", node.func)
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        plain = self._returned is None or node.value is None or _literal(node.value) is not None
        self.generic_visit(node)
        if not plain and node.value is not None:
            node.value = self._call("joined", node.value, ast.Constant(self._returned))
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return self._given(node.targets[0], value)
        name = self._new()
        found: list[ast.stmt] = [ast.Assign([_store(name)], value)]
        for target in node.targets:
            found += self._given(target, _load(name))
        return found

    def _given(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that give a target of an assignment its value."""
        if isinstance(target, ast.Name):
            literal = self._literals.get(target.id)
            joined = value if literal is None else self._call("joined", value, ast.Constant(literal))
            return [ast.Assign([target], joined)]
        if isinstance(target, ast.Tuple | ast.List):
            names = [self._new() for _ in target.elts]
            found: list[ast.stmt] = [ast.Assign([ast.Tuple([_store(name) for name in names], ast.Store())], value)]
            for each, name in zip(target.elts, names, strict=True):
                found += self._given(each, _load(name))
            return found
        if isinstance(target, ast.Subscript):
            name = self._new()
            place = ast.Subscript(_load(name), self.visit(target.slice), ast.Store())
            fitting = self._call("fitting", _load(name), value)
            return [ast.Assign([_store(name)], self.visit(target.value)), ast.Assign([place], fitting)]
        return [ast.Assign([self.visit(target)], value)]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        value, operator, target = self.visit(node.value), _OPERATORS[type(node.op)], node.target
        if isinstance(target, ast.Name):
            return self._given(target, self._call(operator, _load(target.id), value))
        owner = self._new()
        found: list[ast.stmt] = [ast.Assign([_store(owner)], self.visit(target.value))]
        if isinstance(target, ast.Attribute):
            field, kept = (ast.Attribute(_load(owner), target.attr, context()) for context in (ast.Load, ast.Store))
            return [*found, ast.Assign([kept], self._call(operator, field, value))]
        place = self._new()
        found.append(ast.Assign([_store(place)], self.visit(target.slice)))
        read, write = (ast.Subscript(_load(owner), _load(place), context()) for context in (ast.Load, ast.Store))
        made = self._call("fitting", _load(owner), self._call(operator, read, value))
        return [*found, ast.Assign([write], made)]

    def visit(self, node: ast.AST) -> Any:
        """See `ast.NodeTransformer`; what replaces a node stands at its place in the file."""
        found = super().visit(node)
        if isinstance(node, ast.expr | ast.stmt):
            for each in found if isinstance(found, list) else [found]:
                _put(each, node)
        return found


def _put(made: ast.AST, original: ast.expr | ast.stmt) -> None:
    """Give nodes without a place that of the original."""
    if isinstance(made, ast.expr | ast.stmt):
        if hasattr(made, "lineno"):
            return
        ast.copy_location(made, original)
    for child in ast.iter_child_nodes(made):
        _put(child, original)


@cache
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file, by the line that they begin in."""
    source = "".join(linecache.getlines(file))
    if not source:
        raise PluginError(f"{file}: there is no source to interpret")
    found = {}
    for node in ast.walk(ast.parse(source, file)):
        if isinstance(node, ast.FunctionDef):
            found[min([node.lineno, *(each.lineno for each in node.decorator_list)])] = node
    return found


def typed(function: FunctionType, tools: SimpleNamespace) -> Callable[..., Any]:
    """A function as CPython is to run it, in the globals of its module.

    Args:
        function: the plain function.
        tools: what its operators, calls and assignments become.
    """
    code = function.__code__
    original = _functions(code.co_filename).get(code.co_firstlineno)
    if original is None or original.name != code.co_name:
        raise PluginError(f"{code.co_filename}:{code.co_firstlineno}: got no function {code.co_name!r} to interpret")
    copy = deepcopy(original)
    made = _Typed(copy)
    copy.body = _all(made, copy.body)
    copy.decorator_list, copy.args.defaults, copy.returns = [], [], None
    free = [name for name in code.co_freevars]
    outer = ast.FunctionDef(
        name="outer",
        args=ast.arguments([], [ast.arg(name) for name in (_TOOLS, *free)], None, [], [], None, []),
        body=[copy, ast.Return(_load(copy.name))],
        decorator_list=[],
    )
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, original)], []))
    place: dict[str, Any] = {}
    exec(compile(module, code.co_filename, "exec"), function.__globals__, place)
    inner = place["outer"](tools, *free)
    cells = dict(zip(free, function.__closure__ or (), strict=True))
    closure = tuple(
        cells.get(name, cell) for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True)
    )
    found = FunctionType(
        inner.__code__.replace(co_qualname=code.co_qualname),
        function.__globals__,
        code.co_name,
        function.__defaults__,
        closure,
    )
    found.__doc__, found.__module__ = function.__doc__, function.__module__
    return found


def _all(made: _Typed, body: Sequence[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for each in body:
        new = made.visit(each)
        found += new if isinstance(new, list) else [new]
    return found
