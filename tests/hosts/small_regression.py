"""Fits a line to noisy data, and prints statistics of each step in float64."""

import torch

torch.manual_seed(7)
x = torch.randn(64, 8)
y = x @ torch.arange(8.0) + 0.1 * torch.randn(64)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.002)


def describe(name: str, step: int, tensor: torch.Tensor) -> None:
    values = tensor.detach().double()
    zeros = 100 * (values <= 0).double().mean().item()
    print(f"{name} {step} {values.mean().item()!r} {values.abs().max().item()!r} {zeros!r}")


model[1].register_forward_hook(lambda module, inputs, output: describe("relu", step, output))

for step in range(1, 9):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
    loss.backward()
    optimizer.step()
    describe("weight", step, model[0].weight)
    print(f"step {step} loss {loss.item()!r}", flush=True)
