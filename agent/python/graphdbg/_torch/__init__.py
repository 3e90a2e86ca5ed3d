"""The PyTorch adapter: follows modules, ops, optimizers and steps of a training program.

`follow` installs everything after `import torch`. `hooks` chooses how ops are
followed: by the compiled adapter (`compiled_adapter`, which `_build_adapter` makes
if the package has none for this PyTorch) or by `python_adapter`, which has the same
functions. The other modules watch PyTorch from Python and call these functions.
"""
