"""Debugs a script in this process several times. Arguments: the script, and the argument for each time.

Prints the result object of each run in a line of its own, after the argument.
"""

import json
import runpy
import sys

import graphdbg

script, *arguments = sys.argv[1:]
for argument in arguments:
    sys.argv = [script, argument]
    result = graphdbg.run_local(
        runpy.run_path, script, None, "__main__", break_on="not_training", on_hit="continue", keep_tensors=0
    )
    print(f"{argument} {json.dumps(result)}", flush=True)
