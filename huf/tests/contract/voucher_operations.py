"""Generated operations by several users on submittable documents: states, permissions by user and level,
fields that can be set after submission, only once or never, and `frappe.client`.

Like `parcel_operations.py`, with another DocType.
"""

import json
from urllib.parse import quote

import frappe

from huf.tests.contract.operations import collect, conditions
from huf.tests.contract.people_operations import PeopleReplay, encode
from huf.tests.doctypes import ALL, NONE, READER, field, make_doctype
from huf.tests.factories import make, make_user

VOUCHER, LINE, PLACE = "Huf Test Voucher", "Huf Test Voucher Line", "Huf Test Place"
PEOPLE = ["admin", "reader", "clerk", "lead", "guest"]
"""Administrator; reads only; all but cancel and amend, in Rome, without fees; all rights; no rights."""
CLERK, LEAD = "Huf Test Clerk", "Huf Test Lead"
PLACES = ["Rome", "Oslo"]
NAMES = [f"B{row}" for row in range(6)]
"""Two drafts, two submitted and two cancelled vouchers, of each one in Rome and one in Oslo."""
VALUES = {
	"title": ["", "a", "b b", "日本"],
	"place": [None, *PLACES, "Nowhere"],
	"amount": [0, 1, -1.5, 1234.565, "x"],
	"note": ["", "a", "x<y"],
	"fee": ["", "7"],
	"code": ["", "C1", "C2"],
	"total": [0, 5],
	"kind": ["A", "B", "Z"],
	"lines": [[], [{"thing": "a", "count": 1}], [{"thing": "b"}, {"thing": "", "count": 2}]],
}
COLUMNS = {
	"name": [*NAMES, "B9"],
	"title": ["", "a", "b b"],
	"place": [None, *PLACES],
	"amount": [0, 1, -1.5],
	"fee": ["", "7"],
	"docstatus": [0, 1, 2],
	"kind": ["A", "B"],
}
RIGHTS = [
	"read",
	"write",
	"create",
	"delete",
	"submit",
	"cancel",
	"amend",
	"share",
	"print",
	"email",
	"report",
]


def generate(count: int, seed: int) -> list[dict]:
	from hypothesis import strategies as st

	one_of = st.sampled_from
	people, names = one_of(PEOPLE), one_of([*NAMES, *NAMES, "B9"])
	filters = st.lists(
		one_of(list(COLUMNS)).flatmap(lambda column: conditions(column, COLUMNS[column])), max_size=2
	)
	values = st.fixed_dictionaries({}, optional={key: one_of(each) for key, each in VALUES.items()})
	value = one_of([*VALUES, "name", "owner", "docstatus", "unknown"]).flatmap(
		lambda key: st.tuples(st.just(key), one_of(VALUES.get(key, [1])))
	)

	def do(*what: str, **parts):
		return st.fixed_dictionaries({"do": one_of(what), "person": people, **parts})

	order = st.tuples(one_of(list(COLUMNS)), one_of(["asc", "desc"])).map(" ".join).map("{}, name asc".format)
	fields = st.lists(one_of([*COLUMNS, "note", "amended_from"]), min_size=1, max_size=3, unique=True)
	new = st.fixed_dictionaries(
		{"name": one_of(["B9", "B0", ""]), "docstatus": one_of([0, 0, 1, 2])},
		optional={"amended_from": one_of(["B0", "B4", "B5", "B9"])},
	)
	return collect(
		st.one_of(
			do("list", "list_client", fields=fields, filters=filters, order_by=order),
			do("get", "get_client", name=names),
			do("get_value", name=names, fields=fields),
			do("may", name=names, right=one_of(RIGHTS)),
			do("may_all", name=names),
			do("insert", "insert_client", new=new, values=values),
			do("insert_many", rows=st.lists(values, max_size=2)),
			do("update", "update_v2", "save_client", name=names, values=values),
			do("set_value", name=names, value=value),
			do("change_status", "change_status_v2", name=names, docstatus=one_of([0, 1, 2]), values=values),
			do("submit", "submit_client", "submit_v2", "cancel", "cancel_client", "cancel_v2", name=names),
			do("delete", "delete_client", name=names),
			do("rename_client", name=names, new_name=one_of(["B9", "B0", "", "B 9"])),
			do("user_permission", name=names, place=one_of(PLACES)),
		),
		count,
		seed,
	)


class Replay(PeopleReplay):
	"""Runs operations on a site with users and vouchers."""

	def __init__(self) -> None:
		if not frappe.db.exists("DocType", VOUCHER):
			make_doctypes()
		roles = {"reader": READER, "clerk": CLERK, "lead": LEAD}
		people = {who: make_user(role) for who, role in roles.items()}
		for place in PLACES:
			if not frappe.db.exists(PLACE, place):
				frappe.get_doc({"doctype": PLACE, "title": place}).insert()
		super().__init__({"admin": "Administrator", **people})

	def fill(self) -> None:
		frappe.set_user("Administrator")
		frappe.db.rollback()
		for doctype in (VOUCHER, LINE):
			frappe.db.delete(doctype)
		for user in self.users.values():
			frappe.db.delete("User Permission", {"user": user})
			frappe.clear_cache(user=user)
		permit(self.users["clerk"], "Rome")
		for row, name in enumerate(NAMES):
			doc = frappe.get_doc({"doctype": VOUCHER, "name": name, **build_values(row)}).insert()
			for each in (doc, *doc.lines):
				each.db_set("docstatus", row // 2, update_modified=False)
		frappe.db.commit()

	def describe_all(self) -> dict[str, dict]:
		names = frappe.get_all(VOUCHER, pluck="name", order_by="name asc")
		return {name: self.describe(frappe.get_doc(VOUCHER, name).as_dict()) for name in names}

	def describe(self, doc: dict) -> dict:
		"""Equate versions: a field that the user may not read is None in one and missing in another."""
		own = {
			key: str(doc.get(key)) for key in ("name", "docstatus", "amended_from", *VALUES) if key != "lines"
		}
		lines = [
			[each.get("thing"), each.get("count"), each.get("docstatus")] for each in doc.get("lines") or []
		]
		return {**own, "lines": lines}

	def list(self, person, **query):
		return self.send(person, f"/api/resource/{quote(VOUCHER)}?{encode(query)}")

	def list_client(self, person, **query):
		return self.call(person, "get_list", "GET", doctype=VOUCHER, **query)

	def get(self, person, name):
		return self.send(person, address(name))

	def get_client(self, person, name):
		return self.call(person, "get", "GET", doctype=VOUCHER, name=name)

	def get_value(self, person, name, fields):
		return self.call(person, "get_value", "GET", doctype=VOUCHER, filters=name, fieldname=fields)

	def may(self, person, name, right):
		return self.call(person, "has_permission", "GET", doctype=VOUCHER, docname=name, perm_type=right)

	def may_all(self, person, name):
		"""The rights that `frappe.permissions` reports to hooks and pages."""
		doc = frappe.get_doc(VOUCHER, name)
		rights = frappe.permissions.get_doc_permissions(doc, user=self.users.get(person, "Guest"))
		return {right: bool(rights.get(right)) for right in RIGHTS}

	def insert(self, person, new, values):
		return self.send(
			person, f"/api/resource/{quote(VOUCHER)}", "POST", json={"title": "a", **values, **new}
		)

	def insert_client(self, person, new, values):
		return self.call(person, "insert", doc={"doctype": VOUCHER, "title": "a", **values, **new})

	def insert_many(self, person, rows):
		docs = [
			{"doctype": VOUCHER, "title": "a", "name": f"N{row}", **each} for row, each in enumerate(rows)
		]
		return self.call(person, "insert_many", docs=docs)

	def update(self, person, name, values):
		return self.send(person, address(name), "PUT", json=values)

	def update_v2(self, person, name, values):
		return self.send(person, address_v2(name), "PATCH", json=values)

	def save_client(self, person, name, values):
		"""Save the whole document, as a page does."""
		stored = frappe.get_doc(VOUCHER, name).as_dict(convert_dates_to_str=True)
		return self.call(person, "save", doc=json.loads(frappe.as_json({**stored, **values})))

	def set_value(self, person, name, value):
		fieldname, value = value
		return self.call(person, "set_value", doctype=VOUCHER, name=name, fieldname=fieldname, value=value)

	def change_status(self, person, name, docstatus, values):
		return self.send(person, address(name), "PUT", json={**values, "docstatus": docstatus})

	def change_status_v2(self, person, name, docstatus, values):
		return self.send(person, address_v2(name), "PATCH", json={**values, "docstatus": docstatus})

	def submit(self, person, name):
		return self.send(person, f"{address(name)}?run_method=submit", "POST")

	def submit_client(self, person, name):
		return self.call(person, "submit", doc=json.loads(frappe.as_json(frappe.get_doc(VOUCHER, name))))

	def submit_v2(self, person, name):
		return self.send(person, f"{address_v2(name)}method/submit/", "POST")

	def cancel(self, person, name):
		return self.send(person, f"{address(name)}?run_method=cancel", "POST")

	def cancel_client(self, person, name):
		return self.call(person, "cancel", doctype=VOUCHER, name=name)

	def cancel_v2(self, person, name):
		return self.send(person, f"{address_v2(name)}method/cancel/", "POST")

	def delete(self, person, name):
		return self.send(person, address(name), "DELETE")

	def delete_client(self, person, name):
		return self.call(person, "delete", doctype=VOUCHER, name=name)

	def rename_client(self, person, name, new_name):
		return self.call(person, "rename_doc", doctype=VOUCHER, old_name=name, new_name=new_name)

	def user_permission(self, person, name, place):
		"""Permit one more place; returns what the user then sees."""
		if person == "guest":
			return None
		permit(self.users[person], place)
		frappe.db.commit()
		return [self.get(person, name), self.list(person, fields=["name", "place"], order_by="name asc")]

	def call(self, person: str, function: str, method: str = "POST", **values):
		path = f"/api/method/frappe.client.{function}"
		if method == "GET":
			return self.send(person, f"{path}?{encode(values)}")
		return self.send(person, path, method, json=values)


def make_doctypes() -> None:
	for role in (READER, CLERK, LEAD):
		if not frappe.db.exists("Role", role):
			make("Role", role_name=role)
	make_doctype(
		PLACE,
		[field("title", "Data", reqd=1)],
		[{**NONE, "role": role, "read": 1} for role in (READER, CLERK, LEAD)],
		autoname="field:title",
	)
	line = [field("thing", "Data", allow_on_submit=1), field("count", "Int", default="1")]
	make_doctype(LINE, line, [], istable=1)
	columns = [
		field("title", "Data", reqd=1),
		field("place", "Link", options=PLACE),
		field("amount", "Currency"),
		field("note", "Small Text", allow_on_submit=1),
		field("fee", "Data", permlevel=1),
		field("code", "Data", set_only_once=1),
		field("total", "Int", read_only=1),
		field("kind", "Select", options="A\nB", default="B", allow_on_submit=1),
		field("lines", "Table", options=LINE),
	]
	rules = [
		{**ALL, "role": "System Manager"},
		{**NONE, "role": READER, "read": 1, "report": 1},
		{**ALL, "role": CLERK, "cancel": 0, "amend": 0},
		{**ALL, "role": LEAD},
		*({**NONE, "role": role, "permlevel": 1, "read": 1, "write": 1} for role in ("System Manager", LEAD)),
	]
	make_doctype(VOUCHER, columns, rules, is_submittable=1, autoname="prompt", allow_rename=1)


def build_values(row: int) -> dict:
	return {
		"title": ["a", "b b"][row % 2],
		"place": PLACES[row % 2],
		"amount": [0, 1, -1.5][row % 3],
		"fee": ["", "7"][row % 2],
		"code": ["", "C1", ""][row % 3],
		"kind": "AB"[row % 2],
		"lines": [{"thing": "a", "count": each} for each in range(row % 3)],
	}


def permit(user: str, place: str) -> None:
	make("User Permission", user=user, allow=PLACE, for_value=place)


def address(name: str) -> str:
	return f"/api/resource/{quote(VOUCHER)}/{quote(name, safe='')}"


def address_v2(name: str) -> str:
	return f"/api/v2/document/{quote(VOUCHER)}/{quote(name, safe='')}/"
