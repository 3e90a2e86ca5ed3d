"""Evaluates expressions at a stop: looks up names, reads tensors and computes with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import DebuggerError
from .expressions import Binary, Call, Expression, Field, Number, Reference, Slice, Unary, parse, parse_slice
from .frames import Frame, module_scope, scope_of
from .tensor_views import ArrayTensor, check_size
from .values import TensorView, Value
from .variables import variable

if TYPE_CHECKING:
    from .session import Session

_OUTPUT = re.compile(r"out(\d*)")
_INPUT = re.compile(r"in(\d+)")
# Python's names of a tensor that a module has.
_ATTRIBUTES = re.compile(r"(?<![\w`/.$])[A-Za-z_]\w*(?:\[\d+\])*(?:\.\w+|\[\d+\])+(?![\w/`(:])")
# Tensors of up to so many elements are shown by their elements.
_FEW = 8

# By name: what NumPy calls it. Each takes one tensor; those of the second line reduce it to a number.
_FUNCTIONS = {
    **{
        name: name for name in ("abs", "sqrt", "exp", "log", "sign", "isnan", "isinf", "isfinite", "sin", "cos", "tanh")
    },
    **{name: name for name in ("max", "min", "mean", "sum", "std", "var", "any", "all", "argmax", "argmin", "median")},
    "count_nonzero": "count_nonzero",
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
STATISTICS = (
    "count",
    "nan_count",
    "pos_inf_count",
    "neg_inf_count",
    "zero_count",
    "negative_count",
    "positive_count",
    "min",
    "max",
    "mean",
    "abs_mean",
    "abs_max",
    "variance",
    "l1",
    "l2",
)
FUNCTIONS = tuple(_FUNCTIONS)

_Result = TensorView | float | int | bool | str


class Evaluator:
    """Evaluates expressions where a session stands."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def evaluate(self, text: str, frame: int = 0) -> Value:
        """The value of an expression. Names are looked up in the scope of a frame, then outwards."""
        expression = parse(self._without_attributes(text, frame))
        return self._value(self._result(expression, frame), text.strip())

    # ---- values

    def _value(self, result: _Result, text: str) -> Value:
        stop = self._session.stop
        if isinstance(result, str):
            return Value(result, "", text, rank=self._session.rank)
        if isinstance(result, (bool, int, float)):
            shown = str(result).lower() if isinstance(result, bool) else _number_text(result)
            return Value(shown, type(result).__name__, text, number=result, rank=self._session.rank)
        step = int(result.step) if result.step.isdigit() else stop.step if stop else None
        if result.step == "previous" and step is not None:
            step -= 1
        kind = f"{result.dtype}[{', '.join(map(str, result.shape))}]"
        name = result.name + result.slice
        return Value(f"{kind}: {describe(result)}", kind, name, tensor=result, step=step, rank=result.rank)

    def _result(self, expression: Expression, frame: int) -> _Result:
        if isinstance(expression, Number):
            return int(expression.value) if expression.value.is_integer() else expression.value
        if isinstance(expression, Reference):
            return self.tensor(expression, frame)
        if isinstance(expression, Field):
            return _field(self._result(expression.target, frame), expression.name)
        return self._computed(self._array(expression, frame), expression)

    def _computed(self, array: Any, expression: Expression) -> _Result:
        if getattr(array, "shape", ()) == () and hasattr(array, "item"):
            array = array.item()
        if isinstance(array, (bool, int, float)):
            return array
        if isinstance(array, complex):
            raise DebuggerError("the result is a complex number; abs gives its size")
        return ArrayTensor(_text(expression), array, self._session.rank)

    # ---- arithmetic

    def _array(self, expression: Expression, frame: int) -> Any:
        """A number or a NumPy array."""
        numpy = _numpy()
        if isinstance(expression, Binary):
            left, right = self._array(expression.left, frame), self._array(expression.right, frame)
            _check_result(numpy, left, right)
            return _calculated(numpy, lambda: OPERATORS[expression.operator](left, right))
        if isinstance(expression, Unary):
            target = self._array(expression.target, frame)
            return _calculated(numpy, lambda: -target)
        if isinstance(expression, Call):
            return self._call(numpy, expression, frame)
        if isinstance(expression, Slice):
            target, index = self._array(expression.target, frame), parse_slice(expression.text)
            return _calculated(numpy, lambda: target[index])
        result = self._result(expression, frame)
        if isinstance(result, str):
            raise DebuggerError(f"{_text(expression)} is {result}, with which nothing can be calculated")
        if isinstance(result, (bool, int, float)):
            # Integers of Python have no limit, and powers of them could take hours.
            return result if isinstance(result, bool) else float(result)
        return widened(result.read())

    def _call(self, numpy: Any, call: Call, frame: int) -> Any:
        if call.function not in _FUNCTIONS:
            raise DebuggerError(f"there is no function {call.function}; there are: {', '.join(_FUNCTIONS)}")
        if len(call.arguments) != 1:
            raise DebuggerError(f"{call.function} takes one argument")
        argument = self._array(call.arguments[0], frame)
        return _calculated(numpy, lambda: getattr(numpy, _FUNCTIONS[call.function])(argument))

    # ---- names

    def tensor(self, reference: Reference, frame: int = 0) -> TensorView:
        """The tensor of a reference."""
        rank = self._session.rank if reference.rank is None else reference.rank
        if rank not in (each.rank for each in self._session.ranks()):
            raise DebuggerError(f"there is no rank {rank}")
        name = self.tensor_name(reference.name, frame)
        return self._session.tensor_view(name, reference.step, rank, reference.slice)

    def tensor_name(self, name: str, frame: int = 0, executed: bool = True) -> str:
        """The full name, NODE:SLOT, of what an expression calls `name`.

        Args:
            executed: A variable counts only if this step has made its value already.
        """
        output, input = _OUTPUT.fullmatch(name), _INPUT.fullmatch(name)
        if name == "$" or output:
            return f"{self._current_node(name)}:{output[1] or 0 if output else 0}"
        if input:
            return self._input(int(input[1]))
        node, colon, slot = name.rpartition(":")
        if not (colon and slot.isdigit()):
            node, slot = name, "0"
            tensor = self._variable(name, frame, executed)
            if tensor is not None:
                return tensor
        return f"{self.look_up(node, frame)}:{slot}"

    def look_up(self, name: str, frame: int = 0) -> str:
        """The full name of a node: in the scope of a frame, then outwards."""
        index = self._session.graph_index()
        scopes = self.scopes(frame)
        found = self._node(name, scopes)
        if found is not None:
            return found
        for scope in scopes:
            full = f"{scope}/{name}" if scope else name
            number = index.scope_of(full)
            if number is not None:
                raise DebuggerError(f"{full} is a scope and has no values; ptype {full} lists what is in it")
        if not index.has_executed:
            raise DebuggerError(f"{name}: no node is known before the first step")
        raise self._session.unknown_node(name, scopes)

    def _node(self, name: str, scopes: Sequence[str]) -> str | None:
        index = self._session.graph_index()
        names = (f"{scope}/{name}" if scope else name for scope in scopes)
        return next((full for full in names if index.node_of(full) is not None), None)

    def _variable(self, name: str, frame: int, executed: bool) -> str | None:
        """The tensor of a variable of the program.

        Those of the function of the frame win over nodes, as they do in Python, and nodes over those of its callers.
        """
        if not name.isidentifier() or self._session.stop is None:
            return None
        scopes = self.scopes(frame)
        try:
            own = variable(self._session, frame, name, executed)
        except DebuggerError:
            # An argument of the model is an input, which is a node.
            if self._node(name, scopes[:1]) is None:
                raise
            return None
        if own is not None or self._node(name, scopes) is not None:
            return own
        return variable(self._session, frame, name, executed, outwards=True)

    def _frame(self, number: int) -> Frame:
        frames = self._session.frames()
        if number >= len(frames):
            raise DebuggerError(f"there is no frame {number}; the outermost one is {len(frames) - 1}")
        return frames[number]

    def _without_attributes(self, text: str, frame: int) -> str:
        """Python's self.blocks[0].weight, or model.blocks[0].weight, as the name that it has in the graph."""
        return _ATTRIBUTES.sub(lambda match: self._named(match[0], frame), text) if "." in text else text

    def _named(self, attributes: str, frame: int) -> str:
        segments = re.findall(r"\w+", attributes)
        ends = [match.end() for match in re.finditer(r"\w+\]?", attributes)]
        scopes = self.scopes(frame)
        if self._node(segments[0], scopes) is not None:
            return attributes
        for count in range(len(segments), 1, -1):
            found = self._node("/".join(segments[1:count]), scopes)
            if found is not None:
                return f"`{found}:0`{attributes[ends[count - 1] :]}"
        return attributes

    def scopes(self, frame: int) -> list[str]:
        """Scopes from that of a frame outwards; then the model's, so that weights are found from everywhere.

        Of the backward pass, those of the same modules in the forward pass come next.
        """
        stop = self._session.stop
        scopes = []
        scope = self._frame(frame).scope if stop is not None and stop.node else ""
        while scope:
            scopes.append(scope)
            scope = scope_of(scope)
        return list(dict.fromkeys([*scopes, *map(module_scope, scopes), "", "forward"]))

    def _current_node(self, name: str) -> str:
        stop = self._session.stop
        if stop is None:
            raise DebuggerError(f"{name} is the node at which the job stands, and it is running; pause it first")
        if not stop.node:
            raise DebuggerError(f"{name} is the node at which the job stands, and it stands at none: name a tensor")
        return stop.node

    def _input(self, number: int) -> str:
        node = self._session.node(self._current_node(f"in{number}"))
        if number >= len(node.inputs):
            has = f"in0 to in{len(node.inputs) - 1}" if node.inputs else "none"
            raise DebuggerError(f"{node.name} has no input {number}; its inputs: {has}")
        return node.inputs[number].name


def describe(tensor: TensorView) -> str:
    """The elements of a small tensor, else its statistics, in one line."""
    count = 1
    for size in tensor.shape:
        count *= size
    if count <= _FEW:
        values = widened(tensor.read())
        return _elements(values)
    found = tensor.statistics()
    parts = [
        f"{name} {_number_text(value)}"
        for name in ("min", "max", "mean")
        if (value := getattr(found, name)) is not None
    ]
    bad = {"NaN": found.nan_count, "inf": found.pos_inf_count, "-inf": found.neg_inf_count}
    parts += [f"{number} {name}" for name, number in bad.items() if number]
    return ", ".join(parts) or "no finite element"


def widened(array: Any) -> Any:
    """An array whose type NumPy can calculate with: ml_dtypes' become float32."""
    return array if array.dtype.kind in "biufc" else array.astype("float32")


def _elements(array: Any) -> str:
    if array.shape == ():
        return _number_text(array.item())
    if array.size == 0:
        return "[]"
    return f"[{', '.join(_elements(each) for each in array)}]"


def _number_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _field(target: _Result, name: str) -> _Result:
    if isinstance(target, (bool, int, float, str)):
        raise DebuggerError(f".{name}: a number has no fields")
    if name in STATISTICS:
        found = getattr(target.statistics(), name)
        if found is None:
            raise DebuggerError(f"{target.name} has no finite element, and therefore no {name}")
        return found  # type: ignore[no-any-return]
    quantile = re.fullmatch(r"p\d\d", name)
    if quantile and (quantiles := target.statistics().quantiles) and name in quantiles:
        return quantiles[name]
    if name == "shape":
        return _shape(target)
    if name == "dtype":
        return target.dtype
    if name in ("size", "ndim"):
        return len(target.shape) if name == "ndim" else target.statistics().count
    raise DebuggerError(f"there is no statistic {name}; there are: {', '.join(STATISTICS)}")


def _shape(target: TensorView) -> str:
    shape = f"[{', '.join(map(str, target.shape))}]"
    try:
        target.read("[...]" if not target.shape else f"[{','.join('0:0' for _ in target.shape)}]")
    except DebuggerError as error:
        # The graph has the shape of the newest execution that was seen, which may be of an earlier step.
        raise DebuggerError(f"{error}; its shape was {shape} when it was last seen") from None
    return shape


def _check_result(numpy: Any, left: Any, right: Any) -> None:
    """Raises DebuggerError if two arrays do not fit, or give a result that is too large."""
    try:
        shape = numpy.broadcast_shapes(numpy.shape(left), numpy.shape(right))
    except ValueError as error:
        raise DebuggerError(f"cannot calculate this: {error}") from None
    check_size("the result", shape)


def _calculated(numpy: Any, function: Callable[[], Any]) -> Any:
    try:
        with numpy.errstate(all="ignore"):
            return function()
    except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError, MemoryError) as error:
        raise DebuggerError(f"cannot calculate this: {error}") from None


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise DebuggerError("calculating with tensors needs NumPy: pip install numpy") from None
    return numpy


def _text(expression: Expression) -> str:
    """An expression as one would write it."""
    if isinstance(expression, Number):
        return f"{expression.value:g}"
    if isinstance(expression, Reference):
        step = {"previous": "@-1", None: ""}.get(expression.step, f"@{expression.step}")
        rank = "" if expression.rank is None else f"@rank{expression.rank}"
        return f"{expression.name}{expression.slice}{step}{rank}"
    if isinstance(expression, Field):
        return f"{_text(expression.target)}.{expression.name}"
    if isinstance(expression, Slice):
        return f"({_text(expression.target)}){expression.text}"
    if isinstance(expression, Unary):
        return f"-{_text(expression.target)}"
    if isinstance(expression, Call):
        return f"{expression.function}({', '.join(map(_text, expression.arguments))})"
    return f"{_text(expression.left)} {expression.operator} {_text(expression.right)}"
