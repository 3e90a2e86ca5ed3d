"""`graphdbg check`: runs a program under the observer (graphdbg._check) and reports on each stage.

`job` runs the program, `records` reads the events of its processes, `stages` judges
them, `advice` knows common faults, `messages` words the results, and `determinism`
compares two runs.
"""
