"""Shows a model without running it: the program behind `graphdbg open model.onnx`.

python -m graphdbg._onnxruntime.show_model MODEL
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

from .. import _exit_report
from .._agent import Agent, TooLarge
from .._log import log
from .graph import Graph
from .model import CannotSplit, Model


def main() -> None:
    file = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="graphdbg-onnx-") as folder:
        try:
            model = Model.split(file, file.stem, Path(folder))
        except CannotSplit as error:
            log(f"cannot open {file}: {error}")
            sys.exit(1)
        agent = Agent()
        if not agent.open("onnx", "", file.name, "cpu"):
            return
        _exit_report.set_agent(agent)
        try:
            graph = Graph(agent, model)
        except TooLarge as error:
            log(f"cannot show {file}: {error}")
            sys.exit(1)
        for finding in model.findings:
            agent.notify(finding)
        # Waits until the user continues or presses Ctrl-C.
        with contextlib.suppress(KeyboardInterrupt):
            agent.start()
        del graph


if __name__ == "__main__":
    main()
