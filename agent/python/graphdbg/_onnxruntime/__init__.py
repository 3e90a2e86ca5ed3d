"""Follows ONNX Runtime: each InferenceSession is a graph, each run of one a step.

ONNX Runtime tells nobody of its nodes. A run that is watched is therefore made
in pieces: ranges of the model's nodes, each a small model with a session of its
own (pieces.py), whose outputs are handed on as they are, without copies. What
nobody watches runs whole, in the program's own session.
"""
