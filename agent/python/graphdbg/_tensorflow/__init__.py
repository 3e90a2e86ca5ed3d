"""The TensorFlow adapter: follows the ops, functions, optimizers and steps of TensorFlow 2 and Keras 3.

`follow` installs everything after `import tensorflow`. A compiled adapter (`native`) wraps
the kernels that TensorFlow makes, and reports what each computes. From the graphs of the
program's functions, `functions` tells it which node a kernel belongs to; `names` and
`sources` say what the node is called and which line made it. `calls` finds the steps.
"""
