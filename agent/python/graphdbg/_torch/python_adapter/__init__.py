"""The adapter in Python, for a PyTorch without a compiled adapter.

A TorchDispatchMode sees each op of the thread that trains and passes it to the
agent through the same C interface and under the same names. This is slower (tens of
microseconds per op), sees only one thread, and before PyTorch 2.1 cannot find the
forward op of a backward op.
"""
