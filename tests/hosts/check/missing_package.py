"""Imports a package that is not installed."""

import torch
import torch_sparse_attention_kernels  # fails here

model = torch.nn.Linear(2, 1)
torch_sparse_attention_kernels.patch(model)
