"""Runs an ONNX model on random inputs, as a program in production would.

Prints one line per run with a digest of the outputs. Equal lines mean equal bits.
"""

import argparse
import hashlib

import numpy as np
import onnxruntime as ort

TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


def random_input(argument: ort.NodeArg, generator: np.random.Generator, batch: int) -> np.ndarray:
    shape = [size if isinstance(size, int) else batch for size in argument.shape]
    kind = np.dtype(TYPES[argument.type])
    if kind.kind == "f":
        return generator.standard_normal(shape).astype(kind)
    return generator.integers(0, 2, shape).astype(kind)


def bound_run(session: ort.InferenceSession, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    return binding.copy_outputs_to_cpu()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1, help="factor for the inputs")
    parser.add_argument("--no-optimizations", action="store_true")
    parser.add_argument("--iobinding", action="store_true", help="bind inputs and outputs before the run")
    arguments = parser.parse_args()

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if arguments.no_optimizations:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    sessions = [ort.InferenceSession(m, options, providers=["CPUExecutionProvider"]) for m in arguments.models]
    generator = np.random.default_rng(arguments.seed)
    for run in range(1, arguments.runs + 1):
        for session in sessions:
            feeds = {i.name: random_input(i, generator, arguments.batch) for i in session.get_inputs()}
            feeds = {n: v * v.dtype.type(arguments.scale) if v.dtype.kind == "f" else v for n, v in feeds.items()}
            digest = hashlib.sha256()
            for output in bound_run(session, feeds) if arguments.iobinding else session.run(None, feeds):
                digest.update(np.ascontiguousarray(output).tobytes())
            print(f"run {run} {digest.hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()
