"""Runs two models 20 times each in parallel threads. The first session is made from bytes.

two_threads.py LSTM LOOPS

Prints a digest of all outputs.
"""

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime as ort


def main() -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    models = (Path(sys.argv[1]).read_bytes(), sys.argv[2])
    lstm, loops = (ort.InferenceSession(m, options, providers=["CPUExecutionProvider"]) for m in models)
    images = np.random.default_rng(0).standard_normal((4, 8, 8)).astype(np.float32)

    def read(number: int) -> list[np.ndarray]:
        return lstm.run(None, {"images": images * number})

    def repeat(number: int) -> list[np.ndarray]:
        return loops.run(None, {"x": images[0, :2, :3] * number, "n": np.array(number % 3)})

    digest = hashlib.sha256()
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        runs = [executor.map(run, range(1, 21)) for executor, run in ((first, read), (second, repeat))]
        for outputs in (outputs for run in runs for outputs in run):
            for output in outputs:
                digest.update(np.ascontiguousarray(output).tobytes())
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
