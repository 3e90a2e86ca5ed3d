"""The observer of `graphdbg check`, which follows a program through the stages of its bring-up.

`graphdbg check` sets GRAPHDBG_CHECK to a directory. In each process, `observer` then
takes the place of the agent: it watches PyTorch through hooks and writes events, one
JSON object a line, to a file there. The command reads these files when the program has
ended. The observer does not change what the program computes.

The stages, in order: environment, imports, model, data, forward, loss, backward,
optimizer, second_step, run.
"""
