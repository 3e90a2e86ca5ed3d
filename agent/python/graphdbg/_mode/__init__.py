"""Follows PyTorch from Python, where no compiled adapter can be had.

A TorchDispatchMode sees each op of the thread that trains and hands it to the
agent through the same C interface, under the same names. It is slower (an op
costs tens of microseconds more) and sees one thread only; PyTorch before 2.1
does not tell it which forward op a backward op belongs to.
"""
