"""Generated operations of several users: child tables, shares, names, uploads and both REST APIs.

`generate` makes the operations and `Replay` executes them, each on the same documents.
"""

from contextlib import suppress
from io import BytesIO
from urllib.parse import quote

import frappe
import frappe.share

from huf.tests.contract.operations import collect, conditions
from huf.tests.contract.people_operations import PeopleReplay, encode
from huf.tests.doctypes import NONE, PLAIN, READER, field, make_doctype
from huf.tests.factories import make, make_user

PARCEL, ITEM, SENDER = "Huf Test Parcel", "Huf Test Parcel Item", "Huf Test Sender"
WORDS = [
	"",
	"a",
	"b b",
	" lead",
	"trail ",
	"50%",
	"日本",
	"é",
	"😀",
	"a\u00a0b",
	"d's",
	'q"q',
	"x<y",
	"<b>x</b>",
	"a\tb",
]
NUMBERS = [0, 1, -1, 7]
DAYS = ["2024-02-29", "1999-12-31", "2031-01-01"]
NAMES = [f"P{row}" for row in range(6)]
NEW_NAMES = ["P9", "P 9", "P/9", "Ü9", "P9%", " P9", "P9 ", "P0", "p0", "", "x<y", "日本", "a" * 141]
PEOPLE = ["admin", "reader", "sender", "guest"]
"""Administrator; a user who reads all; one who owns P0 and P1, with P4 and P5 shared; not signed in."""
COLUMNS = {
	"name": [*NAMES, "P9", ""],
	"word": ["", "a", "b b", "日本", "50%"],
	"number": [None, *NUMBERS],
	"day": [None, *DAYS],
}
ITEM_COLUMNS = {"thing": ["", "a", "b b", "日本"], "amount": NUMBERS, "idx": [1, 2]}
FILES = [
	"a.txt",
	"a b.txt",
	"ü.txt",
	"a.html",
	"a.png",
	"a.pdf",
	"a.csv",
	"a",
	"..txt",
	"a/b.txt",
	"a.exe",
	"a.svg",
	"a'b.txt",
]
CONTENTS = ["", "text", "a,b\n1,2", "<script>x</script>", "%PDF-1.4"]


def generate(count: int, seed: int) -> list[dict]:
	from hypothesis import strategies as st

	one_of = st.sampled_from
	people, names = one_of(PEOPLE), one_of([*NAMES, "P9"])
	own = one_of(list(COLUMNS)).flatmap(lambda column: conditions(column, COLUMNS[column]))
	of_items = one_of(list(ITEM_COLUMNS)).flatmap(lambda column: conditions(column, ITEM_COLUMNS[column]))
	filters = st.lists(st.one_of(own, own, of_items.map(lambda rest: [ITEM, *rest])), max_size=2)
	item = st.fixed_dictionaries({}, optional={"thing": one_of(WORDS), "amount": one_of(NUMBERS)})
	plain = {"word": one_of(WORDS), "number": one_of([None, *NUMBERS]), "day": one_of([None, *DAYS])}
	values = st.fixed_dictionaries({}, optional={**plain, "items": st.lists(item, max_size=3)})

	def do(*what: str, **parts):
		return st.fixed_dictionaries({"do": one_of(what), "person": people, **parts})

	order = st.tuples(one_of(list(COLUMNS)), one_of(["asc", "desc"])).map(" ".join).map("{}, name asc".format)
	fields = st.lists(one_of([*COLUMNS, "owner", "docstatus"]), min_size=1, max_size=3, unique=True)
	return collect(
		st.one_of(
			do("list", "list_v2", fields=fields, filters=filters, order_by=order, limit=one_of([1, 3, 20])),
			do("count", filters=filters),
			do("get", "get_v2", "delete", "delete_v2", name=names),
			do("insert", "insert_v2", name=one_of(["P9", "P0", ""]), values=values),
			do("update", "update_v2", name=names, values=values),
			do("rename", name=names, new_name=one_of(NEW_NAMES), merge=st.booleans()),
			do("share", name=names, rights=st.lists(one_of(["read", "write", "share"]), unique=True)),
			do("upload", name=one_of(FILES), content=one_of(CONTENTS), is_private=one_of([0, 1])),
		),
		count,
		seed,
	)


def build_parcels() -> list[dict]:
	return [
		{
			"name": name,
			"word": WORDS[row],
			"number": [None, *NUMBERS][row % 5],
			"day": [None, *DAYS][row % 4],
			"items": [
				{"thing": WORDS[row + each], "amount": NUMBERS[(row + each) % 4]} for each in range(row % 3)
			],
		}
		for row, name in enumerate(NAMES)
	]


class Replay(PeopleReplay):
	"""Executes operations on parcels."""

	def __init__(self) -> None:
		if not frappe.db.exists("DocType", PARCEL):
			self.make_doctypes()
		people = {"admin": "Administrator", "reader": make_user(READER), "sender": make_user(SENDER)}
		super().__init__(people)

	@staticmethod
	def make_doctypes() -> None:
		for role in (READER, SENDER):
			if not frappe.db.exists("Role", role):
				make("Role", role_name=role)
		columns = [field("thing", "Data"), field("amount", "Int")]
		make_doctype(ITEM, columns, [], istable=1)
		columns = [field("word", "Data"), field("number", "Int"), field("day", "Date")]
		rules = [
			{**PLAIN, "role": "System Manager"},
			{**NONE, "role": READER, "read": 1, "report": 1},
			{**PLAIN, "role": SENDER, "if_owner": 1},
		]
		make_doctype(
			PARCEL,
			[*columns, field("items", "Table", options=ITEM)],
			rules,
			autoname="prompt",
			allow_rename=1,
		)

	def fill(self) -> None:
		frappe.set_user("Administrator")
		frappe.db.rollback()
		for doctype in (PARCEL, ITEM):
			frappe.db.delete(doctype)
		frappe.db.delete("DocShare", {"share_doctype": PARCEL})
		for row in build_parcels():
			doc = frappe.get_doc({"doctype": PARCEL, **row}).insert()
			if row["name"] in NAMES[:2]:
				doc.db_set("owner", self.users["sender"], update_modified=False)
		frappe.share.add(PARCEL, "P4", self.users["sender"], read=1)
		frappe.share.add(PARCEL, "P5", self.users["sender"], read=1, write=1)
		frappe.db.commit()

	@staticmethod
	def describe_all() -> dict[str, dict]:
		names = frappe.get_all(PARCEL, pluck="name", order_by="name asc")
		return {name: describe(frappe.get_doc(PARCEL, name).as_dict()) for name in names}

	def list(self, person, **query):
		query["limit_page_length"] = query.pop("limit")
		return self.send(person, f"/api/resource/{quote(PARCEL)}?{encode(query)}")

	def list_v2(self, person, **query):
		return self.send(person, f"/api/v2/document/{quote(PARCEL)}?{encode(query)}")

	def count(self, person, filters):
		query = encode({"doctype": PARCEL, "filters": filters})
		return self.send(person, f"/api/method/frappe.client.get_count?{query}")

	def get(self, person, name):
		return self.send(person, address(name))

	def get_v2(self, person, name):
		return self.send(person, address_v2(name))

	def delete(self, person, name):
		return self.send(person, address(name), "DELETE")

	def delete_v2(self, person, name):
		return self.send(person, address_v2(name), "DELETE")

	def insert(self, person, name, values):
		return self.send(person, f"/api/resource/{quote(PARCEL)}", "POST", json={**values, "name": name})

	def insert_v2(self, person, name, values):
		return self.send(person, f"/api/v2/document/{quote(PARCEL)}", "POST", json={**values, "name": name})

	def update(self, person, name, values):
		return self.send(person, address(name), "PUT", json=values)

	def update_v2(self, person, name, values):
		return self.send(person, address_v2(name), "PATCH", json=values)

	def rename(self, person, name, new_name, merge):
		frappe.set_user(self.users.get(person, "Guest"))
		renamed = frappe.rename_doc(PARCEL, name, new_name, merge=merge)
		frappe.db.commit()
		return renamed

	def share(self, person, name, rights):
		frappe.set_user(self.users.get(person, "Guest"))
		frappe.share.add(PARCEL, name, self.users["reader"], **dict.fromkeys(rights, 1))
		frappe.db.commit()
		return self.send("reader", address(name), "PUT", json={"word": "shared"})

	def upload(self, person, name, content, is_private):
		form = {"file": (BytesIO(content.encode()), name), "is_private": is_private}
		status, made, error = self.send(person, "/api/method/upload_file", "POST", data=form)
		if not isinstance(made, dict) or "file_url" not in made:
			return [status, None, error]
		with suppress(frappe.DoesNotExistError):
			frappe.delete_doc("File", made["name"], force=True)
		frappe.db.commit()
		return [
			status,
			[made["is_private"], made["file_url"].rpartition(".")[2] if "." in made["file_url"] else ""],
			error,
		]

	def describe(self, doc: dict) -> dict:
		return describe(doc)


def describe(doc: dict) -> dict:
	items = [[each.get("thing"), each.get("amount"), each.get("idx")] for each in doc.get("items") or []]
	return {**{key: str(doc.get(key)) for key in ("name", "word", "number", "day")}, "items": items}


def address(name: str) -> str:
	return f"/api/resource/{quote(PARCEL)}/{quote(name, safe='')}"


def address_v2(name: str) -> str:
	return f"/api/v2/document/{quote(PARCEL)}/{quote(name, safe='')}/"
