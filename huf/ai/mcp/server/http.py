"""The MCP server over HTTP: the SDK's stateless transport, for every protocol revision it supports.

There are no sessions, so any worker can answer any request.
"""

from collections.abc import Callable, Sequence
from typing import Any

import mcp  # noqa: F401 (first as a whole, see huf.ai.core.sealed_tokens)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from huf.ai.core.event_loops import PropagatedContext
from huf.ai.mcp.server.server import create_server
from huf.ai.mcp.server.servers import ServerOffer

LOCAL_ORIGINS = [f"http://{host}{port}" for host in ("localhost", "127.0.0.1") for port in ("", ":*")]
"""Origins of MCP inspectors."""
MAX_BODY_BYTES = 4 * 1024 * 1024


def create_mcp_app(offer: ServerOffer, trusted_hosts: Sequence[str], is_streamed: bool) -> Callable[..., Any]:
	"""An ASGI application for one request.

	Args:
		trusted_hosts: the allowed values of the headers Host and Origin, in addition to pages on this
		machine.
		is_streamed: the client wants progress notifications.
	"""
	origins = [f"{scheme}://{host}" for host in trusted_hosts for scheme in ("http", "https")]
	security = TransportSecuritySettings(
		allowed_hosts=[*trusted_hosts], allowed_origins=[*origins, *LOCAL_ORIGINS]
	)
	carried = PropagatedContext()
	manager = StreamableHTTPSessionManager(
		create_server(offer, carried),
		json_response=not is_streamed,
		stateless=True,
		security_settings=security,
		max_request_body_size=MAX_BODY_BYTES,
	)

	async def app(scope: Any, receive: Any, send: Any) -> None:
		try:
			async with manager.run():
				await manager.handle_request(scope, receive, send)
		finally:
			carried.restore()

	return app
