"""Adapters for libraries of boosted trees: each booster is a graph, and each boosting round is a step.

There are no ops to stop at. What there is of a round are margins, gradients, hessians,
trees and metrics; each is a node. The modules here are common to all libraries; the
subpackages replace the methods of a library that train boosters.
"""
