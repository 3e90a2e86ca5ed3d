"""Exports a small transformer classifier to ONNX.

export_model.py FILE
"""

import sys

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, width: int = 32, layers: int = 4) -> None:
        super().__init__()
        self.embed = nn.Linear(8, width)
        block = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(self.head(self.encoder(self.embed(images)).mean(1)), dim=1)


def main() -> None:
    torch.manual_seed(0)
    # The fast path is one op for a whole layer, which ONNX does not have.
    torch.backends.mha.set_fastpath_enabled(False)
    names = {"input_names": ["images"], "output_names": ["scores"]}
    torch.onnx.export(Classifier().eval(), (torch.randn(4, 8, 8),), sys.argv[1], dynamo=False, **names)


if __name__ == "__main__":
    main()
