"""Calls a model wrongly in every way, as a program may that deals with it; then rightly.

Prints what each call raised; the last line is of the call that is right.
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
