"""`graphdbg dbg` as one uses gdb: variables of the program, its functions and lines, and starting again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import GRAPHDBG, clean_environment, marked_line

PROGRAM = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x, scale):
        hidden = self.fc(x)
        hidden *= scale
        low, high = hidden.chunk(2, 1)
        return torch.cat([high, low], 1)  # line: cat


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 2)

    def encode(self, x):
        for block in self.blocks:
            x = block(x, 2.0)  # line: block
        return x, x.mean()

    def forward(self, x):
        code, mean = self.encode(x)
        logits = self.head(code)
        return logits, mean  # line: returned


def loss_of(logits, mean):
    return logits.pow(2).sum() + mean  # line: loss


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        batch = torch.ones(3, 4)
        logits, mean = net(batch)
        loss = loss_of(logits, mean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(PROGRAM)
    return file


@pytest.fixture
def dbg(script: Path):
    """Types lines into a session with the program, and returns what it prints and its errors."""

    def run(*lines: str) -> str:
        done = subprocess.run(
            [GRAPHDBG, "dbg", "--", sys.executable, str(script)],
            input="\n".join(lines),
            cwd=script.parent,
            env=clean_environment(HOME=str(script.parent)),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        return done.stdout

    return run


def answer(output: str, line: str) -> str:
    """The first line that a command has printed."""
    rest = output.partition(f"(graphdbg) {line}\n")[2]
    return rest.splitlines()[0]


def test_variables_are_the_results_of_their_assignments(dbg, script: Path) -> None:
    cat, loss = marked_line(script, "# line: cat"), marked_line(script, "# line: loss")
    output = dbg(
        *("step", f"break {cat} if step >= 2", "continue", "delete"),
        *("print hidden", "print high", "print x", "print scale", "print logits", "print code"),
        *(
            "print self.fc.weight.abs_max",
            "print hidden.shape",
            "print hidden.mean()",
            "print torch.isnan(hidden).any()",
        ),
        *("until forward/mean", "print x", f"until train.py:{cat}", "info locals"),
        *(f"until train.py:{loss}", "print logits", "print mean", "up 9", "down"),
        *("tbreak backward/blocks/1/*", "continue", "print low", "print self.fc.weight"),
        *("step", "print loss", "print net.head.bias", "watch loss > 1e9", "watch logits", "info breakpoints"),
        *("delete", "continue"),
    )
    assert answer(output, "print hidden").startswith("forward/blocks/0/mul_:0 = float32[3, 4]")
    assert answer(output, "print high").startswith("forward/blocks/0/split:1 = float32[3, 2]")
    # Not that of the model, which is a node: encode stands between them.
    assert "x: no op is known" in answer(output, "print x")
    assert "scale: no op is known" in answer(output, "print scale")
    assert "was not seen to execute" in answer(output, "print logits")
    assert answer(output, "print self.fc.weight.abs_max").startswith("self.fc.weight.abs_max = ")
    assert answer(output, "print hidden.shape") == "hidden.shape = [3, 4]"
    assert answer(output, "print hidden.mean()").startswith("hidden.mean() = ")
    assert answer(output, "print torch.isnan(hidden).any()") == "torch.isnan(hidden).any() = false"
    at_mean = output.partition("(graphdbg) until forward/mean\n")[2]
    assert answer(at_mean, "print x").startswith("forward/blocks/1/cat:0 = float32[3, 4]")
    # In the next step.
    assert "\nhigh      forward/blocks/0/split:1  " in output
    at_loss = output.partition(f"(graphdbg) until train.py:{loss}\n")[2]
    assert answer(at_loss, "print logits").startswith("forward/head/addmm:0 = float32[3, 2]")
    assert answer(at_loss, "print mean").startswith("forward/mean:0 = float32[]")
    assert answer(output, "print loss").startswith("forward/add:0 = float32[]: ")
    assert answer(output, "print net.head.bias").startswith("forward/head/bias:0 = float32[2]")
    assert answer(output, "watch loss > 1e9") == "Watchpoint 5: forward/add:0, 1 node"
    assert answer(output, "watch logits") == "Watchpoint 6: forward/head/addmm:0, 1 node"
    assert "max > 1e+09" in output and "change_l2 > 0" in output
    # In the backward pass, those of the forward pass.
    assert answer(output, "print low").startswith("forward/blocks/1/split:0 = float32[3, 2]")
    assert answer(output, "print self.fc.weight").startswith("forward/blocks/1/fc/weight:0 = float32[4, 4]")
    assert "[nothing was watched" in output


def test_lines_and_functions_are_places_before_the_first_step(dbg, script: Path) -> None:
    loss, cat = marked_line(script, "# line: loss"), marked_line(script, "# line: cat")
    output = dbg(
        *("list", f"break {cat}", "break loss_of", "break Net.encode", "break 999", "info breakpoints"),
        *(f"clear {cat}", "clear Net.encode", "run", "watch nan, inf", "until", "list"),
    )
    assert answer(output, "list") == "       1  import torch"
    assert answer(output, f"break {cat}") == f"Breakpoint 1: train.py:{cat}, no node known yet"
    assert answer(output, "break loss_of") == f"Breakpoint 2: train.py:{loss}, no node known yet"
    assert answer(output, "break 999").startswith("train.py has ")
    assert answer(output, f"clear {cat}") == "deleted 1"
    assert answer(output, "clear Net.encode") == "deleted 3"
    assert answer(output, "run").startswith("Breakpoint 2, forward/pow, step 1")
    assert [each for each in output.splitlines() if each.startswith("Watchpoint")][-2:] == [
        "Watchpoint 4: nan, 17 nodes",
        "Watchpoint 5: inf, 17 nodes",
    ] or "Watchpoint 5: inf" in output


def test_a_program_is_started_again_with_its_breakpoints(dbg) -> None:
    output = dbg("break loss_of", "display logits.count", "run", "delete", "tbreak loss_of", "run", "continue", "start")
    begins = output.split("waits before the first step")
    assert len(begins) == 4
    assert "Breakpoint 1, forward/pow, step 1" in begins[1]
    assert "Temporary breakpoint 1: train.py:" in begins[2] and "1: logits.count = 6" in begins[2]
    assert "the job has finished" in begins[2]
    assert "after forward/x, step 1" in begins[3]
