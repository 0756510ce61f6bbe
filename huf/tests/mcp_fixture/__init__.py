"""What the MCP conformance suite expects of a server: an agent's tools, and a catalog for features that Huf's
tools do not use.
"""
