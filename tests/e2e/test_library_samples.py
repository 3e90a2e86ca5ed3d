"""Models of well-known libraries, with everything watched: nothing stops their training."""

from __future__ import annotations

import pytest
from conftest import HOSTS
from environments import python_with

SCRIPT = HOSTS / "library_samples.py"
SAMPLES = [
    "t5",
    "bert",
    "gpt2",
    "llama",
    "vit",
    "wav2vec2",
    "diffusers_unet",
    "diffusers_autoencoder",
    "lightning",
    "peft",
    "torch_geometric",
    "gpytorch",
    "x_transformers",
]


@pytest.fixture(scope="session")
def samples_python() -> str:
    return str(python_with("samples"))


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_stops_a_sound_model(debug_run, samples_python: str, name: str) -> None:
    options = ("--no-wait", "--break-on", "nan,inf,overflow", "--on-hit", "terminate")
    run = debug_run(*options, command=[samples_python, str(SCRIPT), name], OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    assert run.result["hits"] == []
    assert run.result["status"] == "finished", run.stderr
    assert run.result["steps"] >= 3
    if name == "t5":
        assert {hit["op_type"] for hit in run.result["absorbed_hits"]} >= {"aten::log", "aten::div", "aten::mul"}
