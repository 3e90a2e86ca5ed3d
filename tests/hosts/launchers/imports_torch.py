"""Imports torch, never trains, and starts the programs that do: one for each argument."""

import subprocess
import sys

import torch

print(f"PyTorch {torch.__version__.split('+')[0]}", flush=True)
sys.exit(max(subprocess.run([sys.executable, script]).returncode for script in sys.argv[1:]))
