"""Verbs that show values."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from ..debugger import DebuggerError, TensorView, Value
from ..debugger.evaluate import widened
from ..debugger.expressions import Reference, parse
from . import arguments
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_GROUP = "Values"
_FORMAT = re.compile(r"/(?P<count>\d*)(?P<letter>[a-z]?)\s*")
_BAR = 40
_COMPARED = (
    ("count", "elements"),
    ("equal_count", "equal"),
    ("not_close_count", "not close"),
    ("non_finite_count", "not finite"),
    ("max_abs_difference", "largest difference"),
    ("mean_abs_difference", "mean difference"),
    ("max_relative_difference", "largest relative difference"),
    ("cosine", "cosine"),
    ("max_ulps", "largest distance in ulps"),
)


def _print(debugger: Interpreter, text: str) -> None:
    value = debugger.session.evaluate(arguments.needed(text, "an expression"), debugger.frame)
    debugger.out.line(f"{value.name} = {value.text}" if value.tensor is not None else f"{text.strip()} = {value.text}")
    tensor = value.tensor
    if tensor is None:
        return
    count = math.prod(tensor.shape)
    if 8 < count <= debugger.settings.elements:
        debugger.out.line(_elements(widened(tensor.read())))
    elif count > debugger.settings.elements:
        debugger.out.line(f'"x/20 {text.strip()}" shows elements, a slice such as [0,:10] a part', "dim")


def _elements(array: Any) -> str:
    import numpy

    return str(numpy.array2string(array, precision=5, threshold=10_000, max_line_width=100, suppress_small=False))


def _examine(debugger: Interpreter, text: str) -> None:
    match = _FORMAT.match(text)
    count = int(match["count"] or 1) if match else 1
    letter = match["letter"] or "" if match else ""
    rest = arguments.needed(text[match.end() :] if match else text, "an expression, as in x/20 weight")
    if letter not in ("", "f", "e", "g", "d", "x", "t"):
        raise DebuggerError(
            f"there is no format {letter}; there are f, e, g, d (decimal), x (bits in hex) and t (bits)"
        )
    tensor = _tensor(debugger.session.evaluate(rest, debugger.frame), rest)
    values = first_elements(tensor, count)
    per_line = 2 if letter == "t" else 8
    for begin in range(0, len(values), per_line):
        part = values[begin : begin + per_line]
        debugger.out.line(f"[{begin}]  ".rjust(8) + "  ".join(_formatted(each, letter) for each in part))
    total = math.prod(tensor.shape)
    if count > total:
        debugger.out.line(f"(all {total} elements)", "dim")


def first_elements(tensor: TensorView, count: int) -> Any:
    """The first elements of a tensor in row-major order, without reading the whole of a large one."""
    shape = tensor.shape
    if not shape:
        return tensor.read().reshape(-1)
    axis = 0
    while axis < len(shape) - 1 and math.prod(shape[axis + 1 :]) > count:
        axis += 1
    inner = max(1, math.prod(shape[axis + 1 :]))
    index = [*["0"] * axis, f"0:{math.ceil(count / inner)}"]
    return tensor.read(f"[{','.join(index)}]").reshape(-1)[:count]


def _formatted(element: Any, letter: str) -> str:
    if letter in ("x", "t"):
        bits = int.from_bytes(element.tobytes(), "little")
        size = element.dtype.itemsize
        return f"0x{bits:0{2 * size}x}" if letter == "x" else f"{bits:0{8 * size}b}"
    number = element.item()
    if letter == "d":
        return f"{int(number) if math.isfinite(number) else number:>12}"
    if isinstance(number, float):
        return f"{number:>12.6{letter or 'g'}}"
    return f"{number!s:>12}"


def _tensor(value: Value, text: str) -> TensorView:
    if value.tensor is None:
        raise DebuggerError(f"{text.strip()} is a number and not a tensor")
    return value.tensor


def _display(debugger: Interpreter, text: str) -> None:
    if not text.strip():
        for number, expression in debugger.displays.items():
            debugger.show_display(number, expression)
        return
    number = max(debugger.displays, default=0) + 1
    # Before it is kept, so that what is no expression is refused.
    parse(text.strip())
    debugger.displays[number] = text.strip()
    if debugger.session.stop is not None:
        debugger.show_display(number, text.strip())


def _undisplay(debugger: Interpreter, text: str) -> None:
    for number in arguments.numbers(text) or list(debugger.displays):
        if number not in debugger.displays:
            raise DebuggerError(f"there is no display {number}")
        del debugger.displays[number]


def _whatis(debugger: Interpreter, text: str) -> None:
    debugger.out.line(debugger.session.evaluate(arguments.needed(text, "an expression"), debugger.frame).type)


def _statistics(debugger: Interpreter, text: str) -> None:
    from ..debugger.evaluate import STATISTICS

    tensor = _tensor(debugger.session.evaluate(text.strip() or "$", debugger.frame), text or "$")
    found = tensor.statistics()
    rows = [(name, value) for name in STATISTICS if (value := getattr(found, name)) is not None]
    rows += list(found.quantiles.items())
    debugger.out.table(("statistic", tensor.name + tensor.slice), [(name, f"{value:.6g}") for name, value in rows])


def _history(debugger: Interpreter, text: str) -> None:
    tensor = _tensor(debugger.session.evaluate(text.strip() or "$", debugger.frame), text or "$")
    points = tensor.history()
    if not points:
        raise DebuggerError(f"no statistics of {tensor.name} are known; print it at several stops, or record the job")
    rows = []
    for point in points[-debugger.settings.elements :]:
        found = point.statistics
        bad = found.nan_count + found.pos_inf_count + found.neg_inf_count
        rows.append((point.step, *(_short(getattr(found, name)) for name in ("min", "max", "mean", "l2")), bad))
    debugger.out.table(("step", "min", "max", "mean", "l2", "not finite"), rows)


def _histogram(debugger: Interpreter, text: str) -> None:
    tensor = _tensor(debugger.session.evaluate(text.strip() or "$", debugger.frame), text or "$")
    import numpy

    values = widened(tensor.read()).astype("float64").reshape(-1)
    finite = values[numpy.isfinite(values)]
    if finite.size == 0:
        raise DebuggerError(f"{tensor.name} has no finite element")
    counts, edges = numpy.histogram(finite, bins=16)
    for number, begin, end in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        bar = "#" * math.ceil(_BAR * number / max(counts))
        debugger.out.line(f"{begin:>12.5g} {end:>12.5g} {number:>10}  {bar}".rstrip())
    if values.size > finite.size:
        debugger.out.line(f"not finite: {values.size - finite.size}")


def _compare(debugger: Interpreter, text: str) -> None:
    words = text.split()
    if len(words) not in (1, 2):
        raise DebuggerError("what is missing: compare A B, or compare A for the previous step")
    left = _reference(words[0])
    right = _reference(words[1]) if len(words) == 2 else Reference(left.name, left.slice, "previous", left.rank)
    if right.slice != left.slice:
        raise DebuggerError("both sides are compared in the slice of the left one: write it there only")
    found = debugger.session.compare(left, right, debugger.frame)
    debugger.out.line("close" if found.all_close else "not close", "title")
    rows = [(label, value) for name, label in _COMPARED if (value := getattr(found, name)) is not None]
    debugger.out.pairs([(label, f"{value:.6g}") for label, value in rows])
    for pair in found.not_close[:5]:
        debugger.out.line(f"  {list(pair.index)}: {pair.left:.6g} and {pair.right:.6g}")


def _reference(text: str) -> Reference:
    expression = parse(text)
    if not isinstance(expression, Reference):
        raise DebuggerError(f"{text} is computed; compare takes names of tensors")
    return expression


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


_EXPRESSIONS = (
    "An expression is $ (the first output of the node at which the job stands), out1, in0, a name in the current scope "
    "or one around it (weight), a full name with a slot (forward/fc/addmm:0), a name in backquotes; then a slice as in "
    "NumPy ([0,:,10:20]), a statistic (.abs_max, .nan_count), another step (@-1, @120) or rank (@rank3). Arithmetic "
    "and abs, max, min, mean, sum, sqrt, isnan and so on work on tensors that are not too large; a / needs spaces."
)

VERBS = [
    Verb(
        "print",
        _print,
        "EXPRESSION",
        "show a value",
        _EXPRESSIONS,
        "print weight.abs_max - weight@-1.abs_max",
        _GROUP,
        completes="expression",
        aliases=("p", "inspect"),
    ),
    Verb(
        "x",
        _examine,
        "/NF EXPRESSION",
        "show the first elements of a tensor",
        "N is how many; F the format: f, e, g, d (decimal), x (bits in hexadecimal), t (bits).",
        "x/16x forward/fc1/weight",
        _GROUP,
        completes="expression",
    ),
    Verb(
        "display",
        _display,
        "[EXPRESSION]",
        "show a value at each stop",
        "Without an expression all of them, now.",
        "display loss.mean",
        _GROUP,
        completes="expression",
    ),
    Verb("undisplay", _undisplay, "[N ...]", "end a display", "Without numbers all.", "undisplay 1", _GROUP),
    Verb(
        "whatis",
        _whatis,
        "EXPRESSION",
        "show type and shape of a value",
        _EXPRESSIONS,
        "whatis $",
        _GROUP,
        completes="expression",
    ),
    Verb(
        "statistics",
        _statistics,
        "[EXPRESSION]",
        "show all statistics of a tensor",
        "Of the whole tensor, or of a slice. Default: $.",
        "statistics in0",
        _GROUP,
        completes="expression",
        aliases=("stat",),
    ),
    Verb(
        "history",
        _history,
        "[EXPRESSION]",
        "show statistics of a tensor by step",
        "Of a live job the known ones: of hits, and of steps in which it was looked at. Of a recorded run all.",
        "history forward/fc1/weight",
        _GROUP,
        completes="expression",
    ),
    Verb(
        "histogram",
        _histogram,
        "[EXPRESSION]",
        "show how the elements of a tensor are distributed",
        "16 bins of equal width over the finite elements.",
        "histogram $",
        _GROUP,
        completes="expression",
    ),
    Verb(
        "compare",
        _compare,
        "A [B]",
        "compare two tensors element by element",
        "B may be another tensor, or the same one elsewhere; without B the previous step.",
        "compare weight weight@rank1",
        _GROUP,
        completes="expression",
    ),
]
