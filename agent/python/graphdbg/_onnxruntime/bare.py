"""Runs a bare ONNX model: what `graphdbg run -- model.onnx` debugs.

python -m graphdbg._onnxruntime.bare MODEL [--input NAME=FILE.npy ...] [--random-inputs] [--compare-to OTHER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

_TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
    **{f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


def fail(message: str, code: int = 1) -> None:
    print(f"graphdbg: {message}", file=sys.stderr, flush=True)
    sys.exit(code)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="graphdbg run -- model.onnx",
        usage="graphdbg run [options] -- model.onnx [--input NAME=FILE.npy ...] [--random-inputs] [--compare-to OTHER]",
        description="Debugs a model under ONNX Runtime without a script.",
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an input's values")
    parser.add_argument("--random-inputs", action="store_true", help="make up the inputs that are not given")
    parser.add_argument("--seed", type=int, default=0, help="of what is made up (%(default)s)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a size that varies (1)")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="how often the model runs (%(default)s)")
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
        import onnxruntime  # noqa: F401
    except ImportError:
        fail(f"{sys.executable} has no onnxruntime; install it there: pip install onnxruntime", 2)


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
    inputs = {name: read_input(wanted[name], file) for name, file in given.items()}
    return inputs | {name: made_up(wanted[name], sizes, generator) for name in missing}


def read_input(argument: Any, file: str) -> Any:
    import numpy as np

    try:
        value = np.load(file, allow_pickle=False)
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
    # Indices into a vocabulary or a flag: both are such numbers.
    return (generator.standard_normal(shape) if dtype.kind == "f" else generator.integers(0, 2, shape)).astype(dtype)


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def main() -> None:
    arguments = make_parser().parse_args()
    check(arguments)
    if arguments.check_only:
        return
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Its own words on stderr say again what the exception says.
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(arguments.model, options, providers=[arguments.provider])
    except Exception as error:
        fail(f"{arguments.model} cannot be loaded: {why(arguments.model) or one_line(error)}")
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


def why(model: Path) -> str | None:
    """What the splitter, which names nodes, has against a model that ONNX Runtime refuses."""
    import tempfile

    from .model import CannotSplit, Model

    with tempfile.TemporaryDirectory() as folder:
        try:
            Model.split(model, model.stem, Path(folder))
        except CannotSplit as error:
            return str(error)
    return None


if __name__ == "__main__":
    main()
