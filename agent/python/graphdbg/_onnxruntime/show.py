"""Shows a model and does not run it: what `graphdbg open model.onnx` starts.

python -m graphdbg._onnxruntime.show MODEL
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from .. import _ending
from .agent import Agent, TooLarge
from .graph import Graph
from .model import CannotSplit, Model


def main() -> None:
    file = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="graphdbg-onnx-") as folder:
        try:
            model = Model.split(file, file.stem, Path(folder))
        except CannotSplit as error:
            print(f"graphdbg: {file} cannot be opened: {error}", file=sys.stderr)
            sys.exit(1)
        agent = Agent()
        if not agent.open("", file.name, "cpu"):
            return
        _ending.set_closer(agent)
        try:
            graph = Graph(agent, model)
        except TooLarge as error:
            print(f"graphdbg: {file} cannot be shown: {error}", file=sys.stderr)
            sys.exit(1)
        for finding in model.findings:
            agent.notify(finding)
        # Until the user has seen enough.
        with contextlib.suppress(KeyboardInterrupt):
            agent.start()
        del graph


if __name__ == "__main__":
    main()
