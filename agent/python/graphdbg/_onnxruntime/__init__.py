"""The ONNX Runtime adapter: each InferenceSession is a graph, and each run of one is a step.

ONNX Runtime has no hooks for nodes. A run that is watched is therefore made in
pieces: ranges of the model's nodes, each a small model with its own session
(pieces.py). Outputs are passed from piece to piece without copies. Parts that are
not watched run whole, in the program's own session.
"""
