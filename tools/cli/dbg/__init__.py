"""`graphdbg dbg`: the terminal debugger. Verbs, completion and rendering on top of graphdbg.cli.debugger."""
