"""Generated operations on one DocType and their answers, to compare the runtimes.

`generate` makes the operations, `Replay` executes them on the current site; each finds the same
rows and leaves no changes. Texts avoid what collations sort differently: case, accents, trailing spaces.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import frappe

from huf.tests.doctypes import PLAIN, field, make_doctype
from huf.tests.http import send

SPECIMEN = "Huf Test Sample"
FIELDS = [
	field("word", "Data"),
	field("number", "Int"),
	field("ratio", "Float"),
	field("day", "Date"),
	field("moment", "Datetime"),
	field("pick", "Select", options="\nA\nB b\nC"),
	field("flag", "Check"),
	field("note", "Small Text"),
]
WORDS = [None, "", "a", "bb", "c c", " lead", "50%", "a_b", "d's", "x<y", "zz", "0"]
NUMBERS = [None, 0, 1, -1, 7, 2147483647]
RATIOS = [None, 0.0, 0.5, -1.25, 1000000.125]
DAYS = [None, "2024-02-29", "1999-12-31", "2031-01-01"]
MOMENTS = [None, "2024-02-29 23:59:59", "2031-01-01 00:00:00", "2031-01-01"]
VALUES = {
	"word": WORDS,
	"number": NUMBERS,
	"ratio": RATIOS,
	"day": DAYS,
	"moment": MOMENTS,
	"pick": [None, "", "A", "B b", "C"],
	"flag": [0, 1],
	"note": [*WORDS, "two\nlines"],
}
OPERATORS = ["=", "!=", ">", ">=", "<", "<=", "like", "not like", "in", "not in", "is", "between"]
ROWS = 16


def build_rows() -> list[dict]:
	"""Rows of sample values; each field cycles with a different step, so that combinations vary."""
	steps = dict(zip(VALUES, (1, 5, 3, 7, 2, 3, 1, 11), strict=True))
	return [
		{"name": f"S{row:02}", **{key: VALUES[key][row * steps[key] % len(VALUES[key])] for key in VALUES}}
		for row in range(ROWS)
	]


def conditions(column: str, values: list):
	"""A strategy for filters `[column, operator, value]`."""
	from hypothesis import strategies as st

	one = st.sampled_from(values)
	by_operator = {
		"in": st.lists(one, max_size=3),
		"not in": st.lists(one, max_size=3),
		"is": st.sampled_from(["set", "not set"]),
		"between": st.lists(one.filter(lambda value: value is not None), min_size=2, max_size=2),
		"like": st.sampled_from(["%a%", "%", "", "a_b", "50\\%", "%b%", "S0%"]),
	}
	by_operator["not like"] = by_operator["like"]
	return st.sampled_from(OPERATORS).flatmap(
		lambda operator: by_operator.get(operator, one).map(lambda value: [column, operator, value])
	)


def collect(strategy, count: int, seed: int) -> list[dict]:
	"""Generate `count` examples of a strategy."""
	from hypothesis import HealthCheck, Phase, given, settings
	from hypothesis import seed as seeded

	found: list[dict] = []

	@seeded(seed)
	@settings(
		max_examples=count,
		database=None,
		deadline=None,
		phases=[Phase.generate],
		suppress_health_check=list(HealthCheck),
	)
	@given(strategy)
	def add(operation):
		found.append(operation)

	add()
	return found


def generate(count: int, seed: int) -> list[dict]:
	from hypothesis import strategies as st

	columns = st.sampled_from([*VALUES, "name"])
	values = {**VALUES, "name": ["S01", "S02", "S99", "", "S%"]}
	filters = st.lists(columns.flatmap(lambda column: conditions(column, values[column])), max_size=2)
	order = st.tuples(columns, st.sampled_from(["asc", "desc"])).map(" ".join).map("{}, name asc".format)
	listed = st.fixed_dictionaries(
		{
			"do": st.sampled_from(["list", "list", "rest_list"]),
			"fields": st.lists(columns, min_size=1, max_size=3, unique=True),
			"filters": filters,
			"order_by": order,
			"limit": st.sampled_from([0, 1, 5, 50]),
		}
	)
	counted = st.fixed_dictionaries({"do": st.sampled_from(["count", "rest_count"]), "filters": filters})
	grouped = st.fixed_dictionaries(
		{"do": st.just("group"), "column": st.sampled_from(list(VALUES)), "filters": filters}
	)
	given_values = st.fixed_dictionaries(
		{}, optional={key: st.sampled_from(each) for key, each in VALUES.items()}
	)
	invalid_values = st.sampled_from(
		[{"pick": "Z"}, {"number": "seven"}, {"day": "2024-02-30"}, {"unknown": 1}, {"word": "x" * 141}]
	)
	written = st.fixed_dictionaries(
		{
			"do": st.sampled_from(["insert", "update", "rest_insert", "rest_update"]),
			"values": st.one_of(given_values, invalid_values),
		}
	)
	return collect(st.one_of(listed, listed, counted, grouped, written), count, seed)


class Replay:
	"""Prepares the rows on the site; `run` executes one operation and returns its answer."""

	def __init__(self) -> None:
		if not frappe.db.exists("DocType", SPECIMEN):
			make_doctype(SPECIMEN, FIELDS, [{**PLAIN, "role": "System Manager"}], autoname="prompt")
		frappe.db.delete(SPECIMEN)
		for row in build_rows():
			frappe.get_doc({"doctype": SPECIMEN, **row}).insert()
		user = frappe.get_doc("User", "Administrator")
		secret = frappe.generate_hash(length=15)
		user.api_key, user.api_secret = frappe.generate_hash(length=15), secret
		user.save()
		frappe.db.commit()
		self.headers = {"Authorization": f"token {user.api_key}:{secret}"}

	def run(self, operation: dict) -> Any:
		rest = {key: value for key, value in operation.items() if key != "do"}
		work: Callable = getattr(self, operation["do"])
		try:
			answer = work(**rest)
		except Exception as error:
			answer = {"error": type(error).__name__}
		frappe.db.rollback()
		frappe.local.message_log = []
		return json.loads(frappe.as_json(answer))

	def list(self, fields, filters, order_by, limit):
		rows = frappe.get_list(
			SPECIMEN, fields=fields, filters=filters, order_by=order_by, limit_page_length=limit
		)
		return [[row.get(key) for key in fields] for row in rows]

	def count(self, filters):
		return frappe.db.count(SPECIMEN, filters)

	def rest_count(self, filters):
		"""Status, message and exception type of `frappe.client.get_count`."""
		query = {"doctype": SPECIMEN, "filters": json.dumps(filters)}
		response = send("/api/method/frappe.client.get_count", headers=self.headers, query_string=query)
		body = response.get_json(silent=True) or {}
		return [response.status_code, body.get("message"), body.get("exc_type")]

	def group(self, column, filters):
		rows = frappe.get_all(
			SPECIMEN, fields=[column], filters=filters, group_by=column, order_by=f"{column} asc"
		)
		return len(rows)

	def insert(self, values):
		doc = frappe.get_doc({"doctype": SPECIMEN, "name": "New", **values}).insert()
		return pick(frappe.get_doc(SPECIMEN, doc.name).as_dict())

	def update(self, values):
		doc = frappe.get_doc(SPECIMEN, "S03")
		doc.update(values)
		doc.save()
		return pick(frappe.get_doc(SPECIMEN, "S03").as_dict())

	def rest_list(self, fields, filters, order_by, limit):
		query = {"fields": fields, "filters": filters, "order_by": order_by, "limit_page_length": limit}
		texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in query.items()}
		return self.request("GET", query_string=texts)

	def rest_insert(self, values):
		answer = self.request("POST", json={"name": "New", **values})
		with suppress(frappe.DoesNotExistError):
			frappe.delete_doc(SPECIMEN, "New", force=True)
		frappe.db.commit()
		return answer

	def rest_update(self, values):
		before = frappe.get_doc(SPECIMEN, "S03").as_dict()
		answer = self.request("PUT", "S03", json=values)
		frappe.db.set_value(SPECIMEN, "S03", {key: before.get(key) for key in VALUES})
		frappe.db.commit()
		return answer

	def request(self, method: str, name: str = "", **options):
		path = "/".join(quote(part) for part in ("api", "resource", SPECIMEN, name) if part)
		response = send(f"/{path}", method=method, headers=self.headers, **options)
		body = response.get_json(silent=True) or {}
		data = body.get("data")
		return [response.status_code, pick(data) if isinstance(data, dict) else data, body.get("exc_type")]


def pick(doc: dict) -> dict:
	return {key: doc.get(key) for key in ("name", *VALUES)}
