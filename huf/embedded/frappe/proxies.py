"""Reads headers of trusted proxies: the client's address, the scheme, the signed-in user.

Off unless the site's configuration names `trusted_proxies`, addresses or networks such as "10.0.0.0/8".  From
any other peer these headers are ignored, because anybody can send them.
"""

import ipaddress

import frappe
from werkzeug.wrappers import Request


def is_trusted(address: str | None) -> bool:
	parsed = parse_address(address)
	networks = frappe.conf.trusted_proxies or ()
	if isinstance(networks, str):
		networks = networks.replace(",", " ").split()
	return parsed is not None and any(parsed in ipaddress.ip_network(each, strict=False) for each in networks)


def parse_address(address: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
	try:
		parsed = ipaddress.ip_address((address or "").strip())
	except ValueError:
		return None
	return getattr(parsed, "ipv4_mapped", None) or parsed


def read_address(request: Request) -> str:
	"""The client's address: the last one in X-Forwarded-For that no trusted proxy has."""
	address = str(parse_address(request.remote_addr) or request.remote_addr or "127.0.0.1")
	for passed in reversed(request.headers.get("X-Forwarded-For", "").split(",")):
		if not is_trusted(address) or not (parsed := parse_address(passed)):
			break
		address = str(parsed)
	return address


def take_scheme(request: Request) -> None:
	scheme = request.headers.get("X-Forwarded-Proto", "").rpartition(",")[2].strip().lower()
	if scheme in ("http", "https") and is_trusted(request.remote_addr):
		request.scheme = request.environ["wsgi.url_scheme"] = scheme


def read_user(request: Request) -> str | None:
	"""The user that a trusted proxy names in the header `proxy_user_header`, or None."""
	header = frappe.conf.proxy_user_header
	if not header or not is_trusted(request.remote_addr):
		return None
	return request.headers.get(header) or None
