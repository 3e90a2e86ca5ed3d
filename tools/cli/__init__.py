"""The command line: `graphdbg <command>`, one module for each command.

Speaks only the server's public HTTP interface. Installed as the package
`graphdbg.cli`.
"""
