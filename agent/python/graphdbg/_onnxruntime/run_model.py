"""Runs a model without a script: the program that `graphdbg run -- model.onnx` debugs.

python -m graphdbg._onnxruntime.run_model MODEL [--input NAME=FILE.npy ...] [--random-inputs] [--compare-to OTHER]
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
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {least}, not '{text}'")
        return int(text)

    return parse


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphdbg run -- model.onnx",
        usage="graphdbg run [options] -- model.onnx [--input NAME=FILE.npy ...] [--random-inputs] [--compare-to OTHER]",
        description="Debugs an ONNX model under ONNX Runtime, without a script.",
    )
    parser.add_argument("model", type=Path, help="the ONNX file")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="the values of an input")
    parser.add_argument(
        "--random-inputs", action="store_true", help="use random values for the inputs that are not given"
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, help="seed of the random values (default: %(default)s)"
    )
    parser.add_argument(
        "--dim", action="append", default=[], metavar="NAME=N", help="the value of a variable dimension (default: 1)"
    )
    parser.add_argument(
        "--runs", type=whole_number(1), default=1, metavar="N", help="number of runs (default: %(default)s)"
    )
    parser.add_argument("--provider", default="CPUExecutionProvider", help="execution provider (default: %(default)s)")
    parser.add_argument(
        "--compare-to",
        type=Path,
        metavar="OTHER",
        help="compare each tensor with another .onnx model on the same inputs, or with values by name in an .npz",
    )
    parser.add_argument("--rtol", type=float, default=1e-3, help="relative tolerance (default: %(default)s)")
    parser.add_argument("--atol", type=float, default=1e-5, help="absolute tolerance (default: %(default)s)")
    parser.add_argument("--check-only", action="store_true", help=argparse.SUPPRESS)
    return parser


def pairs(items: list[str], option: str) -> dict[str, str]:
    found = dict(item.partition("=")[::2] for item in items)
    for name, value in found.items():
        if not name or not value:
            fail(f"{option}: expected NAME=VALUE, not '{name}'", 2)
    return found


def check(arguments: argparse.Namespace) -> None:
    for name, file in pairs(arguments.input, "--input").items():
        if not Path(file).is_file():
            fail(f"--input {name}: no such file: {file}", 2)
    for name, size in pairs(arguments.dim, "--dim").items():
        if not size.isdigit():
            fail(f"--dim {name}: expected a whole number, not '{size}'", 2)
    if arguments.compare_to is not None and not arguments.compare_to.is_file():
        fail(f"--compare-to: no such file: {arguments.compare_to}", 2)
    try:
        import onnxruntime
    except ImportError:
        fail(f"onnxruntime is not installed for {sys.executable}; fix: pip install onnxruntime", 2)
    providers = onnxruntime.get_available_providers()
    if arguments.provider not in providers:
        fail(f"--provider: {arguments.provider} is not available; available: {', '.join(providers)}", 2)


def inputs_of(session: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    given = pairs(arguments.input, "--input")
    wanted = {argument.name: argument for argument in session.get_inputs()}
    unknown = sorted(set(given) - set(wanted))
    listed = ", ".join(f"{name} {a.type} {a.shape}" for name, a in wanted.items())
    if unknown:
        fail(f"the model has no input '{unknown[0]}'; its inputs: {listed}", 2)
    missing = sorted(set(wanted) - set(given))
    if missing and not arguments.random_inputs:
        fail(
            f"no values for the inputs {', '.join(missing)}: use --input or --random-inputs; all inputs: {listed}",
            2,
        )
    generator = np.random.default_rng(arguments.seed)
    sizes = {name: int(size) for name, size in pairs(arguments.dim, "--dim").items()}
    known = {str(size) for argument in wanted.values() for size in argument.shape if isinstance(size, str)}
    for name in sorted(sizes.keys() - known):
        variable = ", ".join(sorted(known)) or "none"
        fail(f"--dim {name}: no input has a dimension of that name; variable dimensions: {variable}", 2)
    inputs = {name: read_input(wanted[name], file) for name, file in given.items()}
    return inputs | {name: random_input(wanted[name], sizes, generator) for name in missing}


def read_input(argument: Any, file: str) -> Any:
    import numpy as np

    try:
        value = numpy_file(file)
    except Exception as error:
        fail(f"--input {argument.name}: cannot read {file}: {one_line(error)}", 2)
    if not isinstance(value, np.ndarray):
        fail(f"--input {argument.name}: {file} contains several arrays; expected an .npy file with one", 2)
    if not accepts(argument, value):
        expected, found = f"{argument.type} {argument.shape}", f"{value.dtype} {list(value.shape)}"
        fail(f"input '{argument.name}' has the type {expected}, but {file} contains {found}", 2)
    return value


def accepts(argument: Any, value: Any) -> bool:
    """Whether the value has the input's type and shape. Dimensions that are not numbers accept any size."""
    sizes = list(zip(argument.shape, value.shape, strict=False))
    return (
        _TYPES.get(argument.type, str(value.dtype)) == str(value.dtype)
        and len(argument.shape) == value.ndim
        and all(not isinstance(wanted, int) or wanted == size for wanted, size in sizes)
    )


def random_input(argument: Any, sizes: dict[str, int], generator: Any) -> Any:
    import numpy as np

    if argument.type not in _TYPES:
        fail(f"cannot generate random values of type {argument.type}: use --input {argument.name}=FILE.npy", 2)
    dtype = np.dtype(_TYPES[argument.type])
    shape = [size if isinstance(size, int) else sizes.get(str(size), 1) for size in argument.shape]
    try:
        # Integers are often indices into a vocabulary, or flags. 0 and 1 are valid for
        # both.
        values = generator.standard_normal(shape) if dtype.kind == "f" else generator.integers(0, 2, shape)
    except (MemoryError, ValueError):
        fail(f"not enough memory for input '{argument.name}' of shape {shape}", 2)
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
