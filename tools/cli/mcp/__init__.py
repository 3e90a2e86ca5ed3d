"""The debugger's verbs as tools of the Model Context Protocol, for coding agents."""
