"""Free ports for servers that tests start."""

import secrets
import socket

FROM, TO = 11_000, 32_768
"""Below Linux's ephemeral ports: an outgoing connection could take one of those before the server binds it.
Chromium refuses 10080.
"""


def find_free_port() -> int:
	while True:
		port = FROM + secrets.randbelow(TO - FROM)
		with socket.socket() as probe:
			if probe.connect_ex(("127.0.0.1", port)):
				return port
