"""/api: an ordered list of routes.  Version 1 also answers without its number, as `/api/method` and
`/api/resource`.
"""

import frappe
from frappe.api.v1 import url_rules as v1_rules
from frappe.api.v2 import url_rules as v2_rules
from frappe.utils.response import as_json
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import Map, Submount
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

API_URL_MAP = Map(
	[Submount("/api", v1_rules()), Submount("/api/v1", v1_rules()), Submount("/api/v2", v2_rules())],
	strict_slashes=False,
	merge_slashes=False,
)


def handle(request: Request) -> Response:
	"""Call the endpoint of the request's path. Its return value becomes `data`, unless it is a Response.

	An endpoint may set the type of `frappe.local.response` to "redirect", and its location.
	"""
	try:
		endpoint, arguments = API_URL_MAP.bind_to_environ(request.environ).match()
	except NotFound:
		raise frappe.DoesNotExistError from None
	except MethodNotAllowed:
		raise frappe.PermissionError(frappe._("Not permitted")) from None
	data = endpoint(**arguments)
	if isinstance(data, Response):
		return data
	if data is not None:
		frappe.response["data"] = data
	if frappe.response.get("type") == "redirect":
		return redirect(frappe.response["location"])
	return as_json()
