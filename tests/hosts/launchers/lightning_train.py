"""Trains with Lightning: `strategy` and `devices` as arguments."""

import os
import sys
import tempfile

import lightning
import torch
from ddp_steps import Net, batch
from torch import nn
from torch.utils.data import DataLoader

STEPS = 6


class Lit(lightning.LightningModule):
    def __init__(self, corrupt_step: int) -> None:
        super().__init__()
        self.net = Net()
        self.corrupt_step = corrupt_step

    def training_step(self, _: torch.Tensor, index: int) -> torch.Tensor:
        x, y = batch(self.global_rank, index + 1, self.corrupt_step)
        features = torch.sqrt(x)  # first bad value
        loss = nn.functional.cross_entropy(self.net(features), y)
        print(f"step {index + 1}  rank {self.global_rank}  loss {loss.item():.9g}\n", end="", flush=True)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


if __name__ == "__main__":
    strategy, devices, corrupt_step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=devices,
        strategy=strategy,
        max_steps=STEPS,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        default_root_dir=os.environ.get("TMPDIR", tempfile.gettempdir()),
    )
    trainer.fit(Lit(corrupt_step), DataLoader(torch.zeros(64, 1), batch_size=4))
