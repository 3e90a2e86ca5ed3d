"""The first steps of a new user, run in a bare system by its own Python; prints JSON.

Installs the wheel in /trial into an environment of its own, then starts the programs.
With "torch" as argument, PyTorch is found in /packages.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

WORK = Path("/trial")
BIN = WORK / "venv" / "bin"

TRAINING = """
import torch

net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    size = net(torch.ones(2, 4)).abs().sum()
    loss = torch.log(size if step < 2 else -1 - size)
    loss.backward()
    optimizer.step()
"""


def output(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def install() -> None:
    output(sys.executable, "-m", "venv", str(WORK / "venv"))
    (wheel,) = WORK.glob("graphdbg-*.whl")
    output(str(BIN / "pip"), "install", "--quiet", "--no-index", f"--find-links={WORK}", str(wheel))


def loads_the_native_parts() -> dict[str, str]:
    """The agent's version, and where the extension module comes from."""
    program = (
        "import ctypes, json, graphdbg, graphdbg._c_api as c, graphdbg._torch._hooks as hooks\n"
        "agent = ctypes.CDLL(str(c.LIBRARY)); agent.graphdbg_version.restype = ctypes.c_char_p\n"
        "print(json.dumps({'agent': agent.graphdbg_version().decode(), 'hooks': hooks.__file__}))"
    )
    return json.loads(output(str(BIN / "python"), "-c", program))


def serves_a_page_and_a_model() -> dict[str, str]:
    command = [str(BIN / "graphdbg"), "start", "--json", "--port=0", "--debugger-port=0"]
    server = subprocess.Popen([*command, f"--data-dir={WORK}/data"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = json.loads(server.stdout.readline())["http_address"]
        with urllib.request.urlopen(f"{address}/", timeout=60) as page:
            title = page.read().decode()
        request = urllib.request.Request(
            f"{address}/api/v1/graphs?name=tiny.onnx",
            (WORK / "tiny.onnx").read_bytes(),
            {
                "Authorization": f"Bearer {(WORK / 'data' / 'token').read_text().strip()}",
                "Content-Type": "application/octet-stream",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return {"page": title, "model": json.loads(answer.read())["job"]}
    finally:
        server.terminate()
        server.wait(60)


def runs_a_program() -> str:
    program = WORK / "program.py"
    program.write_text("print('ran')\n")
    command = [str(BIN / "graphdbg"), "run", "--no-wait", "--", str(BIN / "python"), str(program)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    return done.stdout


def stops_a_training() -> dict[str, object]:
    # After this environment's own packages, so that the wheel's graphdbg comes first.
    (site,) = (WORK / "venv" / "lib").glob("python3*/site-packages")
    (site / "packages.pth").write_text("/packages\n")
    program = WORK / "train.py"
    program.write_text(TRAINING)
    result = WORK / "result.json"
    options = ["--no-wait", "--break-on", "nan", "--on-hit", "terminate", "--result", str(result)]
    command = [str(BIN / "graphdbg"), "run", *options, "--", str(BIN / "python"), str(program)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=250)
    return {"result": json.loads(result.read_text()), "stderr": done.stderr}


def main() -> None:
    install()
    found: dict[str, object] = {
        "version": output(str(BIN / "graphdbg"), "--version"),
        "doctor": json.loads(output(str(BIN / "graphdbg"), "doctor", "--json")),
        "native": loads_the_native_parts(),
        "server": serves_a_page_and_a_model(),
        "program": runs_a_program(),
    }
    if sys.argv[1:] == ["torch"]:
        found["training"] = stops_a_training()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
