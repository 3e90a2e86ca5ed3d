"""One line about each stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..client import Json

_MOST_LINES = 3


def failure(text: str, activity: str, step: int) -> str:
    """The first lines of an error; with the step and what it was doing, after the first one."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    short = " ".join(lines[:_MOST_LINES])
    return f"{activity} of step {step + 1}: {short}" if activity else short


def success(stage: str, facts: Json, seconds: float | None) -> str:
    words = _WORDS.get(stage)
    text = words(facts) if words else ""
    timed = stage in ("imports", "second_step") and seconds is not None
    return f"{seconds:.2f} s" if timed else text


def _tensors(described: Sequence[Json]) -> str:
    devices = {each["device"] for each in described}
    shown = ", ".join(f"{each['dtype']} {each['shape']}" for each in described)
    return f"{shown} on {devices.pop()}" if len(devices) == 1 else shown


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"


def _environment(facts: Json) -> str:
    count = facts.get("gpus") or 0
    used = {"PyTorch": facts["torch"]} if "torch" in facts else {}
    used |= facts.get("frameworks", {})
    frameworks = "".join(f"{title} {version}, " for title, version in used.items())
    devices = f"{count} GPU{'' if count == 1 else 's'}" if count else "no GPU"
    devices += f" ({facts['gpu']})" if "gpu" in facts else ""
    return f"Python {facts.get('python')}, {frameworks}{facts.get('cpus')} CPUs, {devices}"


def _model(facts: Json) -> str:
    if "module" not in facts:
        return ""
    trainable = facts["trainable"]
    share = "all trainable" if trainable == facts["parameters"] else f"{trainable:,} trainable"
    return f"{facts['module']}: {facts['parameters']:,} parameters ({share}), {', '.join(facts['kinds'])}"


def _data(facts: Json) -> str:
    if "first_batch_seconds" in facts:
        workers = f", {facts['workers']} workers" if facts["workers"] else ""
        return f"first batch after {facts['first_batch_seconds']:.2f} s{workers}: {_tensors(facts['batch'])}"
    return f"inputs of the model: {_tensors(facts['inputs'])}" if facts.get("inputs") else ""


def _forward(facts: Json) -> str:
    if "outputs" not in facts:
        return ""
    mismatch = facts.get("device_mismatch")
    moved = f"; inputs on {', '.join(mismatch['inputs'])}, model on {', '.join(mismatch['model'])}" if mismatch else ""
    outputs = f" -> {_tensors(facts['outputs'])}" if facts["outputs"] else ""
    return f"{_tensors(facts['inputs'])}{outputs}{moved}"


def _loss(facts: Json) -> str:
    if "loss" not in facts:
        return ""
    value = f"{float(facts['value']):.6g}, " if facts.get("value") else ""
    return f"{value}{_tensors([facts['loss']])}"


def _backward(facts: Json) -> str:
    if "trainable" not in facts:
        return ""
    missing = facts["without_gradient"]
    names = f"; without one: {', '.join(missing)}" if missing else ""
    return f"{facts['with_gradient']} of {facts['trainable']} parameters have a gradient{names}"


def _optimizer(facts: Json) -> str:
    if "optimizer" not in facts:
        return ""
    rates = ", ".join(f"{rate:g}" for rate in facts["learning_rates"])
    unchanged = "" if facts["changed"] else "; it has changed no weight yet"
    return f"{facts['optimizer']}, {facts['tensors']} parameters, learning rate {rates}{unchanged}"


def _run(facts: Json) -> str:
    if "steps" not in facts:
        return ""
    steps = f"{facts['steps']} step{'' if facts['steps'] == 1 else 's'}"
    gpu = f", GPU memory {_size(facts['gpu_memory_bytes'])}" if "gpu_memory_bytes" in facts else ""
    return f"{steps} in {facts['seconds']:.1f} s, memory {_size(facts['memory_bytes'])}{gpu}"


_WORDS: dict[str, Callable[[Json], str]] = {
    "environment": _environment,
    "model": _model,
    "data": _data,
    "forward": _forward,
    "loss": _loss,
    "backward": _backward,
    "optimizer": _optimizer,
    "run": _run,
}
