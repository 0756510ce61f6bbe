"""The A2A server of one request: the SDK's routes over Huf's handler, acting as the session user."""

import threading
from collections.abc import Callable
from typing import Any

from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from starlette.applications import Starlette

from huf.ai.core.event_loops import PropagatedContext
from huf.api.a2a_handler import Handler
from huf.api.wire.a2a import build_card

CACHING = "private, max-age=0, must-revalidate"


def create_a2a_app(agent: Any, url: str, left: threading.Event) -> Callable[..., Any]:
	"""An ASGI application for one request to an Agent document, with its card.

	Args:
		url: the agent's address for clients
		left: set when the reader of a stream leaves
	"""
	carried = PropagatedContext()
	routes = [
		*create_agent_card_routes(build_card(agent, url), cache_control=CACHING),
		*create_jsonrpc_routes(Handler(agent.name, carried, left), "/", enable_v0_3_compat=True),
	]
	application = Starlette(routes=routes)

	async def app(scope: Any, receive: Any, send: Any) -> None:
		try:
			await application(scope, receive, send)
		finally:
			carried.restore()

	return app
