"""Common faults of training programs, and what to do about each.

One table: the first rule whose pattern is found in `TYPE: MESSAGE` applies. Named groups
of the pattern can be used in the advice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A kind of fault.

    Attributes:
        pattern: A regular expression for `TYPE: MESSAGE`.
        advice: One sentence.
        stage: The stage that the fault belongs to, wherever it shows.
    """

    pattern: str
    advice: str
    stage: str | None = None


# Distributions whose name differs from that of their module.
_DISTRIBUTIONS = {
    "PIL": "Pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "torch_geometric": "torch-geometric",
    "yaml": "PyYAML",
}

RULES = (
    # --- environment
    Rule(r"^NoPython", "Put a Python command after --, such as: graphdbg check -- python train.py.", "environment"),
    Rule(
        r"no such script: '(?P<path>[^']+)'",
        "Check the path {path} and the directory that the command is started in.",
        "environment",
    ),
    Rule(
        r"Torch not compiled with CUDA enabled",
        "This PyTorch cannot use a GPU: install its CUDA build, or use the device cpu.",
        "environment",
    ),
    Rule(
        r"Found no NVIDIA driver|No CUDA GPUs are available|no CUDA-capable device",
        "PyTorch finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the device cpu.",
        "environment",
    ),
    Rule(
        r"invalid device ordinal",
        "The program asks for a GPU that does not exist: compare its index with CUDA_VISIBLE_DEVICES and nvidia-smi.",
        "environment",
    ),
    Rule(
        r"EADDRINUSE|[Aa]ddress already in use",
        "Another process uses the port: set another MASTER_PORT, or end the earlier run.",
        "environment",
    ),
    Rule(
        r"environment variable (?P<name>\w+) expected, but not set",
        "{name} comes from a launcher: start the script with torchrun, or set the variable.",
        "environment",
    ),
    # --- imports
    Rule(r"ModuleNotFoundError: No module named '(?P<module>[\w.]+)'", "{install}"),
    Rule(
        r"ImportError: cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'",
        "The installed {module} has no {name}: install the version that the script was written for, or look for a file "
        "of that name that hides the package.",
    ),
    Rule(
        r"ImportError: .*(?:cannot open shared object file|GLIBC|undefined symbol)",
        "A native library is missing or of another version: reinstall the package for this system.",
    ),
    Rule(r"^(?:SyntaxError|IndentationError|TabError)", "Correct the syntax of this line."),
    Rule(
        r"^OtherFramework",
        "Stages are checked of programs that train with PyTorch only. `graphdbg run` debugs this one.",
    ),
    Rule(r"^NoTorch", "Check that the command trains with PyTorch, in the Python that it names."),
    # --- memory
    Rule(
        r"OutOfMemoryError|CUDA out of memory",
        "The GPU's memory is exhausted: reduce the batch size, use mixed precision or activation checkpointing, and "
        "check with nvidia-smi whether other processes use this GPU.",
    ),
    Rule(
        r"DefaultCPUAllocator: can't allocate|^MemoryError|killed by SIGKILL",
        "The machine's memory is exhausted: reduce the batch size or the model, and look for out-of-memory messages in "
        "dmesg.",
    ),
    Rule(
        r"killed by SIG(?:SEGV|BUS|ABRT|FPE|ILL)",
        "A native library has crashed: run with PYTHONFAULTHANDLER=1 for the line, and update the library.",
    ),
    # --- data
    Rule(
        r"bootstrapping phase",
        "Worker processes import the script again: put its code into a function that is called under "
        'if __name__ == "__main__".',
        "data",
    ),
    Rule(
        r"DataLoader worker .*(?:killed by signal|exited unexpectedly)",
        "Set num_workers=0 to see the worker's own error; if it is killed, enlarge /dev/shm or use fewer workers.",
        "data",
    ),
    Rule(
        r"stack expects each tensor to be equal size|batch must contain tensors",
        "The samples of a batch differ in shape or type: resize or pad them, or give the data loader a collate_fn.",
    ),
    Rule(
        r"num_samples should be a positive integer value",
        "The data set is empty: check its path and its filters.",
        "data",
    ),
    Rule(
        r"^EmptyLoader",
        "Check the path and filters of the data set, and drop_last with a batch size above the number of samples.",
    ),
    Rule(
        r"FileNotFoundError: .*'(?P<path>[^']+)'",
        "{path} does not exist: correct the path, which is relative to the working directory unless it starts with /.",
    ),
    Rule(r"PermissionError: .*'(?P<path>[^']+)'", "Give this user access to {path}, or use another directory."),
    Rule(
        r"(?:Missing|Unexpected) key\(s\) in state_dict|size mismatch for ",
        "The checkpoint belongs to another model: build the model with the checkpoint's settings.",
    ),
    # --- model and forward
    Rule(r'missing the required "forward" function', "Define forward(self, ...) in the module; check its indentation."),
    Rule(
        r"forward\(\) (?:missing|takes|got an unexpected)",
        "The call does not fit the parameters of forward: compare the arguments with its definition.",
    ),
    Rule(
        r"cannot assign module before Module.__init__|cannot assign parameters before Module.__init__",
        "Call super().__init__() first in the module's __init__.",
    ),
    Rule(
        r"Expected all tensors to be on the same device|found at least two devices|"
        r"Input type \(torch\.(?:cuda\.)?\w+\) and weight type \(torch\.(?:cuda\.)?\w+\) should be the same|"
        r"Tensor on device \S+ is not on the expected device|not at the same device",
        "Move the model and every batch to the same device with .to(device).",
    ),
    Rule(
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(?P<given>\d+) and (?P<wanted>\d+)x\d+\)",
        "The layer expects {wanted} features and gets {given}: set in_features={given}, or flatten the input "
        "differently.",
    ),
    Rule(
        r"to have (?P<wanted>\d+) channels, but got (?P<given>\d+) channels",
        "The convolution expects {wanted} channels and gets {given}: set in_channels={given}, or permute the input to "
        "[batch, channels, ...].",
    ),
    Rule(
        r"have the same dtype|expected scalar type|Expected .*(?:scalar type|dtype)|"
        r"result type \w+ can't be cast|Found dtype \w+ but expected",
        "Convert the tensors to one dtype: usually inputs and regression targets to float32, class labels to int64.",
    ),
    Rule(
        r"index out of range in self",
        "An index is not below the embedding's num_embeddings: enlarge the embedding, or check the vocabulary.",
    ),
    Rule(
        r"Expected more than 1 value per channel when training",
        "Batch normalisation needs more than one sample: set drop_last=True, or a larger batch size.",
    ),
    # --- loss
    Rule(
        r"Target (?P<target>-?\d+) is out of bounds",
        "A label is {target}, and labels run from 0 to the number of outputs - 1: enlarge the last layer, or subtract "
        "the first label.",
    ),
    Rule(
        r"Expected input batch_size \((?P<input>\d+)\) to match target batch_size \((?P<target>\d+)\)",
        "The outputs have {input} rows and the targets {target}: check reshapes between the data and the loss.",
    ),
    Rule(
        r"multi-target not supported|Expected target size|only batches of spatial targets",
        "cross_entropy takes logits [batch, classes, ...] and integer labels [batch, ...]: squeeze or reshape them.",
    ),
    Rule(
        r"all elements of (?:input|target) should be between 0 and 1",
        "Binary cross entropy takes probabilities: use binary_cross_entropy_with_logits for raw outputs.",
    ),
    Rule(
        r"The size of tensor a \(\d+\) must match the size of tensor b|shape .* is invalid for input of size|"
        r"[Ss]izes? .*mismatch|size mismatch|not broadcastable",
        "The shapes do not fit: compare them with those of the stages before, and correct the reshape or the layer.",
    ),
    Rule(
        r"^NonFiniteLoss",
        "Run graphdbg run --no-wait --break-on nan,inf on the same command: it stops at the op that makes the first.",
    ),
    # --- backward
    Rule(
        r"does not require grad and does not have a grad_fn",
        "The loss does not depend on a trainable parameter: look for torch.no_grad, detach(), .item(), NumPy or "
        "requires_grad=False between the model and the loss.",
    ),
    Rule(
        r"grad can be implicitly created only for scalar outputs",
        "Reduce the loss to one number, with .mean() or reduction='mean'.",
    ),
    Rule(
        r"backward through the graph a second time",
        "A tensor of an earlier step is still part of the graph: detach what is carried over (hidden state, running "
        "loss).",
    ),
    Rule(
        r"modified by an inplace operation",
        "Replace the in-place operation (x += y, x[i] = y, relu_, inplace=True) by one that makes a new tensor; "
        "torch.autograd.set_detect_anomaly(True) names the op.",
    ),
    Rule(
        r"Expected to have finished reduction in the prior iteration",
        "Some parameters take no part in the loss: remove them, or use find_unused_parameters=True.",
    ),
    Rule(
        r"^NonFiniteGradient",
        "Run graphdbg run --no-wait --break-on nan,inf to find the op, and check divisions, logarithms, roots and the "
        "learning rate.",
    ),
    Rule(
        r"^NoGradients",
        "The loss does not depend on the optimizer's parameters: build the optimizer after the model is final, from "
        "the parameters of the model that is trained.",
    ),
    Rule(r"^NoBackward", "Call loss.backward() before optimizer.step(), and zero_grad() before both."),
    # --- optimizer
    Rule(
        r"optimizer got an empty parameter list",
        "The model has no parameters: create layers in __init__ as attributes, and keep lists of layers in "
        "nn.ModuleList.",
        "optimizer",
    ),
    Rule(
        r"^UnchangedWeights",
        "Check the learning rate and its schedule, and that gradients are not zero.",
    ),
    # --- distributed
    Rule(
        r"Connection closed by peer|Connection reset by peer|[Tt]imed out after|DistBackendError",
        "Another rank has ended or takes another path: every rank must run the same collectives in the same order.",
    ),
    Rule(
        r"device-side assert triggered",
        "Run on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to see the real error: mostly an index or label out of range.",
    ),
    # --- endings
    Rule(r"^Timeout", "Look where it waits with py-spy dump, or allow more time with --timeout."),
    Rule(r"^KeyboardInterrupt", "The program was interrupted; start the check again."),
    Rule(r"^SystemExit: ", "The script has ended itself: check its arguments and its last messages."),
    Rule(r"^ExitCode", "The program ended itself without an exception: look at its last messages."),
    Rule(
        r"^EndedEarly",
        "The script ended without training: check that its main function is called and that its loops iterate.",
    ),
)

_BY_STAGE = {
    "environment": "Correct the environment, then check again.",
    "imports": "Correct this import, then check again.",
    "model": "Correct how the model is built at this line.",
    "data": "Correct how the data is read at this line; num_workers=0 makes the traceback shorter.",
    "forward": "Compare the shapes, dtypes and devices of the inputs with what this line expects.",
    "loss": "Compare shapes and dtypes of outputs and targets with what the loss expects.",
    "backward": "Look at the ops of the forward pass that the loss comes from.",
    "optimizer": "Check the optimizer's parameters and settings.",
    "second_step": "The first step has passed, so look for what it leaves behind: state, hooks, in-place changes.",
    "run": "The first two steps have passed, so look for what differs later: the last batch, evaluation, saving.",
}


def _find(text: str) -> tuple[Rule, re.Match[str]] | None:
    for rule in RULES:
        match = re.search(rule.pattern, text)
        if match:
            return rule, match
    return None


def stage_of(text: str) -> str | None:
    """The stage that a fault belongs to, if it is not the one in which it shows. `text` is `TYPE: MESSAGE`."""
    found = _find(text)
    return found[0].stage if found else None


def advise(text: str, stage: str) -> str:
    """One sentence about what to do. `stage` serves faults that no rule knows."""
    found = _find(text)
    if found is None:
        return _BY_STAGE[stage]
    rule, match = found
    groups = match.groupdict()
    if "module" in groups:
        top = groups["module"].partition(".")[0]
        groups["install"] = (
            f"Install it into the environment of the command (python -m pip install {_DISTRIBUTIONS.get(top, top)}); "
            "if it is a file of yours, add its directory to PYTHONPATH."
        )
    return rule.advice.format(**groups)
