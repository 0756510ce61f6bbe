"""What the conformance suite of MCP expects a server to offer: real tools of an agent, and a catalog for what
Huf's own tools have no use for.
"""
