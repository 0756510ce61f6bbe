"""A client program for the conformance suite that passes its scenario to a running process.

The suite starts one program per scenario; importing Huf's client in each would take longer than the scenarios.
Arguments: the port of that process and, from the suite, the server's URL. Exits with the error, if any.
"""

import json
import os
import socket
import sys

ORDER = {
	"url": sys.argv[-1],
	"scenario": os.environ.get("MCP_CONFORMANCE_SCENARIO", ""),
	"context": json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"),
}

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
	connection.sendall(json.dumps(ORDER).encode() + b"\n")
	sys.exit(connection.makefile().read() or None)
