"""Tests the conditions of a training that runs without an error and does not learn.

They are the set `not_training` of the catalogue (agent/conditions/training_conditions.h).
Each module tests a few of them; `observer` calls them at the points of a step.
"""
