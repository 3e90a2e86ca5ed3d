"""Calls a model with each kind of invalid input, handles the errors, and then calls it correctly.

Prints the exception of each call. The last line is the result of the correct call.
"""

import sys

import numpy as np
import onnxruntime as ort

GOOD = np.linspace(-1, 1, 4 * 8 * 8, dtype=np.float32).reshape(4, 8, 8)
CALLS = {
    "shape": (None, {"images": GOOD[:, :7]}),
    "rank": (None, {"images": GOOD[0]}),
    "dtype": (None, {"images": GOOD.astype(np.float64)}),
    "missing": (None, {}),
    "unknown": (None, {"images": GOOD, "labels": GOOD}),
    "misnamed": (None, {"pictures": GOOD}),
    "not an array": (None, {"images": "a text"}),
    "no feeds": (None, None),
    "output": (["scores", "logits"], {"images": GOOD}),
    "right": (None, {"images": GOOD}),
}


def main() -> None:
    session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
    for name, (outputs, feeds) in CALLS.items():
        try:
            print(f"{name}: {session.run(outputs, feeds)[0].sum():.6g}", flush=True)
        except Exception as error:
            print(f"{name}: {type(error).__module__}.{type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
