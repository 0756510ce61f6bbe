"""MCP servers without the SDK: one that misbehaves, and one that requires OAuth.

They implement just enough of the protocol; `mcp_servers.McpServer` starts them.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from huf.tests.mcp_servers import INJECTION, SECRET


class Hostile(BaseHTTPRequestHandler):
	"""Answers initialize and tools/list, and misbehaves on tools/call.

	state.json may select a misbehaviour for another method: {"tools/list": "endless"}.
	"""

	protocol_version = "HTTP/1.1"
	mode = folder = ""

	def do_POST(self):
		body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
		method = body.get("method")
		if method == "tools/call":
			with Path(self.folder, "received.jsonl").open("a") as file:
				file.write(json.dumps(body["params"]) + "\n")
		state = Path(self.folder, "state.json")
		chosen = json.loads(state.read_text()) if state.exists() else {}
		if mode := chosen.get(method, self.mode if method == "tools/call" else ""):
			return getattr(self, mode)(body)
		if method == "initialize":
			info = {"name": "hostile", "version": "1"}
			return self.answer(
				body, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
			)
		if method == "tools/list":
			schema = {"type": "object", "properties": {"query": {"type": "string"}}}
			tool = {"name": "search", "description": "Search", "inputSchema": schema}
			return self.answer(body, {"tools": [{**tool, "annotations": {"readOnlyHint": True}}]})
		if "id" in body:
			return self.send(404, b"")
		self.send(202, b"")

	def do_DELETE(self):
		if self.mode == "slow_close":
			time.sleep(60)
		self.send(200, b"")

	def do_GET(self):
		self.send(405, b"")

	def refuse(self, body: dict):
		self.send(429, b'{"error": "Too many requests"}')

	def answer(self, body: dict, result: dict):
		extra = {"Mcp-Session-Id": "1"} if self.mode == "slow_close" else {}
		self.send(200, json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": result}).encode(), **extra)

	def send(self, status: int, content: bytes, kind: str = "application/json", **headers):
		self.send_response(status)
		self.send_header("Content-Type", kind)
		self.send_header("Content-Length", str(len(content)))
		for key, value in headers.items():
			self.send_header(key, value)
		self.end_headers()
		self.wfile.write(content)

	def hang(self, body):
		time.sleep(60)

	def endless(self, body):
		self.send_response(200)
		self.send_header("Content-Type", "text/event-stream")
		self.end_headers()
		note = {
			"jsonrpc": "2.0",
			"method": "notifications/message",
			"params": {"level": "info", "data": "x" * 900},
		}
		while True:
			self.wfile.write(f"event: message\ndata: {json.dumps(note)}\n\n".encode())

	def progress(self, body):
		"""Reports progress forever."""
		self.send_response(200)
		self.send_header("Content-Type", "text/event-stream")
		self.end_headers()
		for done in range(1_000_000):
			token = body["params"]["_meta"]["progressToken"]
			params = {"progressToken": token, "progress": done}
			note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
			self.wfile.write(f"event: message\ndata: {json.dumps(note)}\n\n".encode())
			time.sleep(0.2)

	def pages(self, body):
		"""An endless list: each page has 10 new tools and a cursor for the next page."""
		page = int((body.get("params") or {}).get("cursor") or 0)
		schema = {"type": "object"}
		tools = [{"name": f"tool_{page}_{n}", "inputSchema": schema} for n in range(10)]
		self.answer(body, {"tools": tools, "nextCursor": str(page + 1)})

	def injected(self, body):
		schema = {"type": "object", "properties": {"query": {"type": "string"}}}
		self.answer(body, {"tools": [{"name": "search", "description": INJECTION, "inputSchema": schema}]})

	def refused(self, body):
		"""Two tools that the SDK refuses, beside one that it does not."""
		schema = {"type": "object", "properties": {"query": {"type": "string"}}}
		tools = [
			{"name": "any", "inputSchema": True},
			{"name": "search", "description": "Search", "inputSchema": schema},
			{"name": "many", "inputSchema": schema, "outputSchema": {"type": "array"}},
		]
		self.answer(body, {"tools": tools})

	def huge(self, body):
		self.send_response(200)
		self.send_header("Content-Type", "application/json")
		self.send_header("Content-Length", str(100_000_000))
		self.end_headers()
		for _ in range(100):
			self.wfile.write(b"x" * 1_000_000)

	def huge_json(self, body):
		block = {"type": "text", "text": "y" * 5_000_000}
		self.answer(body, {"content": [block]})

	def many_values(self, body):
		self.answer(body, {"content": [1] * 30_000})

	def gzip(self, body):
		import gzip

		content = gzip.compress(b"x" * 100_000_000)
		self.send(200, content, **{"Content-Encoding": "gzip"})

	def redirect(self, body):
		self.send(307, b"", Location=f"http://127.0.0.2:{self.server.server_address[1]}/inside")

	def redirect_loop(self, body):
		self.send(307, b"", Location=self.path)

	def slow_close(self, body):
		self.answer(body, {"content": [{"type": "text", "text": "done"}]})

	def garbage(self, body):
		self.send(200, b"{not json")

	def crash(self, body):
		self.connection.shutdown(socket.SHUT_RDWR)
		self.close_connection = True

	def log_message(self, *args):
		pass


class Inside(Hostile):
	"""The target of a redirect: logs the requests that reach it."""

	def do_POST(self):
		Path(self.folder, "calls.jsonl").open("a").write(json.dumps({"path": self.path}) + "\n")
		self.send(200, b"{}")

	do_GET = do_POST


class Authorized(Hostile):
	"""A server whose tool needs a token, with its authorization server. Tokens expire after `LIFETIME_S`. A
	refresh token is good once: a second use ends the grant.
	"""

	LIFETIME_S = 1
	GRANT = threading.Lock()
	mode = "slow_close"
	challenges: dict[str, str] = {}
	codes: set[str] = set()
	issued: dict[str, float] = {}
	refresh_tokens: list[str] = []
	"""The one that is good, if any."""

	def do_GET(self):
		from urllib.parse import parse_qs, urlsplit

		base = f"http://127.0.0.1:{self.server.server_address[1]}"
		address = urlsplit(self.path)
		if address.path.startswith("/.well-known/oauth-protected-resource"):
			return self.send_json({"resource": f"{base}/mcp", "authorization_servers": [f"{base}/"]})
		if address.path.startswith("/.well-known/oauth-authorization-server"):
			names = ("authorization", "token", "registration")
			methods = {"code_challenge_methods_supported": ["S256"], "response_types_supported": ["code"]}
			return self.send_json(
				{"issuer": f"{base}/", **methods, **{f"{n}_endpoint": f"{base}/{n}" for n in names}}
			)
		if address.path == "/authorization":
			query = {key: values[0] for key, values in parse_qs(address.query).items()}
			self.challenges["the-code"] = query["code_challenge"]
			return self.send(
				302, b"", Location=f"{query['redirect_uri']}?code=the-code&state={query['state']}"
			)
		self.send(405, b"")

	def do_POST(self):
		if self.path == "/registration":
			metadata = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
			return self.send_json({**metadata, "client_id": "registered"}, status=201)
		if self.path == "/token":
			with self.GRANT:
				return self.grant_token()
		token = (self.headers["Authorization"] or "").removeprefix("Bearer ")
		if time.monotonic() > self.issued.get(token, 0):
			self.rfile.read(int(self.headers["Content-Length"]))
			return self.send(401, b"")
		super().do_POST()

	def grant_token(self):
		import base64
		import hashlib
		from urllib.parse import parse_qs

		form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
		Path(self.folder, "calls.jsonl").open("a").write(json.dumps({"grant": form["grant_type"][0]}) + "\n")
		if form["grant_type"] == ["authorization_code"]:
			digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
			challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
			if self.challenges.pop(form["code"][0], None) != challenge:
				return self.send_json({"error": "invalid_grant"}, status=400)
		elif form["refresh_token"] != self.refresh_tokens:
			self.refresh_tokens.clear()
			return self.send_json({"error": "invalid_grant"}, status=400)
		token = f"{SECRET}-{len(self.issued)}"
		self.refresh_tokens[:] = [f"{token}-refresh"]
		self.issued[token] = time.monotonic() + self.LIFETIME_S
		self.send_json(
			{
				"access_token": token,
				"token_type": "Bearer",
				"expires_in": self.LIFETIME_S,
				"refresh_token": self.refresh_tokens[0],
			}
		)

	def do_DELETE(self):
		if self.path == "/tokens":
			self.issued.clear()
		self.send(200, b"")

	def send_json(self, value: dict, status: int = 200):
		self.send(status, json.dumps(value).encode())


def serve_hostile(mode: str, port: int, folder: str) -> None:
	Hostile.mode, Hostile.folder = mode, folder
	if mode == "redirect":
		# The target of the redirect, to detect that it was followed.
		inside = ThreadingHTTPServer(("127.0.0.2", port), Inside)
		threading.Thread(target=inside.serve_forever, daemon=True).start()
	ThreadingHTTPServer(("127.0.0.1", port), Hostile).serve_forever()


def serve_oauth(port: int, folder: str) -> None:
	Hostile.folder = folder
	ThreadingHTTPServer(("127.0.0.1", port), Authorized).serve_forever()
