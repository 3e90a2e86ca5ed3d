"""The Debug Adapter Protocol (https://microsoft.github.io/debug-adapter-protocol) in front of `graphdbg.cli.debugger`.

wire, connection, dispatch     messages, and which thread answers them
adapter                        one debug session of a client, whose requests the modules below answer
launching, attaching           how it gets its job
breakpoints, stack, values, …  translation between the protocol and the debugger
"""

from __future__ import annotations
