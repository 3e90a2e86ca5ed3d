"""The command line `graphdbg <command>`, with one module per command.

It uses only the server's public HTTP interface. The wheel installs it as the
package `graphdbg.cli`.
"""
