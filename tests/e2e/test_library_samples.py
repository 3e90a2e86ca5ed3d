"""Models of well-known libraries, with everything watched: nothing stops their training."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import HOSTS
from environments import python_with

SCRIPT = HOSTS / "library_samples.py"
SAMPLES = ["vit", "peft", "torch_geometric", "gpytorch", "hf_trainer"]
MORE_SAMPLES = [
    "t5",
    "diffusers_autoencoder",
    "lightning",
    "bert",
    "gpt2",
    "llama",
    "wav2vec2",
    "diffusers_unet",
    "x_transformers",
    "accelerate",
    "sentence_transformers",
]
VISION_SAMPLES = ["torchvision", pytest.param("timm", marks=pytest.mark.long)]


@pytest.fixture(scope="session")
def samples_python() -> str:
    return str(python_with("samples"))


@pytest.fixture(scope="session")
def vision_python() -> str:
    return str(python_with("vision"))


def train(debug_run: Any, python: str, name: str) -> Any:
    options = ("--no-wait", "--break-on", "nan,inf,overflow,not_training", "--on-hit", "terminate")
    run = debug_run(*options, command=[python, str(SCRIPT), name], OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    assert run.result["hits"] == []
    assert run.result["status"] == "finished", run.stderr
    assert run.result["steps"] >= 15
    assert "no longer tested" not in run.stderr
    return run


@pytest.mark.parametrize("name", VISION_SAMPLES)
def test_nothing_stops_a_sound_model_of_images(debug_run, vision_python: str, name: str) -> None:
    train(debug_run, vision_python, name)


@pytest.mark.parametrize("name", [*SAMPLES, *(pytest.param(each, marks=pytest.mark.long) for each in MORE_SAMPLES)])
def test_nothing_stops_a_sound_model(debug_run, samples_python: str, name: str) -> None:
    run = train(debug_run, samples_python, name)
    if name == "t5":
        assert {hit["op_type"] for hit in run.result["absorbed_hits"]} >= {"aten::log", "aten::div", "aten::mul"}
