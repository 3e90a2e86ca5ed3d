"""Runs a bare ONNX model: what `graphdbg run -- model.onnx` debugs.

python -m graphdbg._onnxruntime.bare MODEL [--input NAME=FILE.npy ...] [--random-inputs] [--compare-to OTHER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .loading import fail, load, numpy_file, one_line

_TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
    **{f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def whole_number(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} on")
        return int(text)

    return parse


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphdbg run -- model.onnx",
        usage="graphdbg run [options] -- model.onnx [--input NAME=FILE.npy ...] [--random-inputs] [--compare-to OTHER]",
        description="Debugs a model under ONNX Runtime without a script.",
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an input's values")
    parser.add_argument("--random-inputs", action="store_true", help="make up the inputs that are not given")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="of what is made up (%(default)s)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a size that varies (1)")
    parser.add_argument(
        "--runs", type=whole_number(1), default=1, metavar="N", help="how often the model runs (%(default)s)"
    )
    parser.add_argument("--provider", default="CPUExecutionProvider", help="execution provider (%(default)s)")
    parser.add_argument(
        "--compare-to",
        type=Path,
        metavar="OTHER",
        help="another .onnx, run on the same inputs, or recorded values by name in an .npz: compares tensor by tensor",
    )
    parser.add_argument("--rtol", type=float, default=1e-3, help="tolerated relative error (%(default)s)")
    parser.add_argument("--atol", type=float, default=1e-5, help="tolerated absolute error (%(default)s)")
    parser.add_argument("--check-only", action="store_true", help=argparse.SUPPRESS)
    return parser


def pairs(items: list[str], option: str) -> dict[str, str]:
    found = dict(item.partition("=")[::2] for item in items)
    for name, value in found.items():
        if not name or not value:
            fail(f"{option} wants NAME=VALUE, not '{name}'", 2)
    return found


def check(arguments: argparse.Namespace) -> None:
    for name, file in pairs(arguments.input, "--input").items():
        if not Path(file).is_file():
            fail(f"--input {name}: there is no file {file}", 2)
    for name, size in pairs(arguments.dim, "--dim").items():
        if not size.isdigit():
            fail(f"--dim {name}: '{size}' is no size", 2)
    if arguments.compare_to is not None and not arguments.compare_to.is_file():
        fail(f"--compare-to: there is no file {arguments.compare_to}", 2)
    try:
        import onnxruntime
    except ImportError:
        fail(f"{sys.executable} has no onnxruntime; install it there: pip install onnxruntime", 2)
    providers = onnxruntime.get_available_providers()
    if arguments.provider not in providers:
        fail(f"--provider: ONNX Runtime has no {arguments.provider} here; it has {', '.join(providers)}", 2)


def inputs_of(session: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    given = pairs(arguments.input, "--input")
    wanted = {argument.name: argument for argument in session.get_inputs()}
    unknown = sorted(set(given) - set(wanted))
    listed = ", ".join(f"{name} {a.type} {a.shape}" for name, a in wanted.items())
    if unknown:
        fail(f"the model has no input '{unknown[0]}'; it has {listed}", 2)
    missing = sorted(set(wanted) - set(given))
    if missing and not arguments.random_inputs:
        fail(f"no values for the inputs {', '.join(missing)}: give --input or --random-inputs; there are {listed}", 2)
    generator = np.random.default_rng(arguments.seed)
    sizes = {name: int(size) for name, size in pairs(arguments.dim, "--dim").items()}
    known = {str(size) for argument in wanted.values() for size in argument.shape if isinstance(size, str)}
    for name in sorted(sizes.keys() - known):
        fail(f"--dim {name}: no input has a size of that name; they have {', '.join(sorted(known)) or 'none'}", 2)
    inputs = {name: read_input(wanted[name], file) for name, file in given.items()}
    return inputs | {name: made_up(wanted[name], sizes, generator) for name in missing}


def read_input(argument: Any, file: str) -> Any:
    import numpy as np

    try:
        value = numpy_file(file)
    except Exception as error:
        fail(f"--input {argument.name}: {file} cannot be read: {one_line(error)}", 2)
    if not isinstance(value, np.ndarray):
        fail(f"--input {argument.name}: {file} holds no array of its own but several", 2)
    if not takes(argument, value):
        wants, has = f"{argument.type} {argument.shape}", f"{value.dtype} {list(value.shape)}"
        fail(f"input '{argument.name}' wants {wants}; {file} has {has}", 2)
    return value


def takes(argument: Any, value: Any) -> bool:
    """Whether the input is of the value's type and shape; sizes with names, or none, take any."""
    sizes = list(zip(argument.shape, value.shape, strict=False))
    return (
        _TYPES.get(argument.type, str(value.dtype)) == str(value.dtype)
        and len(argument.shape) == value.ndim
        and all(not isinstance(wanted, int) or wanted == size for wanted, size in sizes)
    )


def made_up(argument: Any, sizes: dict[str, int], generator: Any) -> Any:
    import numpy as np

    if argument.type not in _TYPES:
        fail(f"values of type {argument.type} cannot be made up: give --input {argument.name}=FILE.npy", 2)
    dtype = np.dtype(_TYPES[argument.type])
    shape = [size if isinstance(size, int) else sizes.get(str(size), 1) for size in argument.shape]
    try:
        # Indices into a vocabulary or a flag: both are such numbers.
        values = generator.standard_normal(shape) if dtype.kind == "f" else generator.integers(0, 2, shape)
    except (MemoryError, ValueError):
        fail(f"input '{argument.name}' of shape {shape} takes more memory than there is", 2)
    return values.astype(dtype)


def main() -> None:
    arguments = make_parser().parse_args()
    check(arguments)
    if arguments.check_only:
        return
    session = load(arguments.model, arguments.provider)
    inputs = inputs_of(session, arguments)
    for _ in range(arguments.runs):
        try:
            outputs = session.run(None, inputs)
        except Exception as error:
            fail(f"{arguments.model} failed: {one_line(error)}")
    for output, value in zip(session.get_outputs(), outputs, strict=True):
        print(f"{output.name} {getattr(value, 'dtype', type(value).__name__)} {list(getattr(value, 'shape', []))}")
    if arguments.compare_to is not None:
        from . import compare

        sys.exit(compare.main(arguments, inputs))


if __name__ == "__main__":
    main()
