"""The retail domain of tau2-bench as DocTypes: its users and orders, changed by its own tools.

HUF_TAU2 names a checkout of github.com/sierra-research/tau2-bench (MIT).
"""

import importlib
import json
import sys
import types
from pathlib import Path

import frappe

from huf.ai.tools.registry import tool
from huf.tests.doctypes import PLAIN, field, make_doctype

USER, ORDER = "Tau2 User", "Tau2 Order"
METHOD, ITEM, PAYMENT = "Tau2 Payment Method", "Tau2 Item", "Tau2 Payment"
RULES = [{**PLAIN, "role": "System Manager"}]


class Shop:
	"""tau2's database, with users and orders stored in their DocTypes."""

	current = None

	def __init__(self, root: Path):
		data_model, tools = import_tau2(root)
		folder = root / "data" / "tau2" / "domains" / "retail"
		self.data = json.loads((folder / "db.json").read_text())
		self.tasks = json.loads((folder / "tasks.json").read_text())
		self.model, self.database = data_model, data_model.RetailDB.model_validate(self.data)
		self.tools = tools.RetailTools(self.database)
		Shop.current = self

	def call(self, name: str, arguments: dict):
		"""Runs a tool of tau2 on the stored documents it may change, and saves the changed ones."""
		user, orders = arguments.get("user_id"), [arguments["order_id"]] if "order_id" in arguments else []
		if orders:
			user = self.read(ORDER, orders[0])["user_id"]
		keys = [(USER, user)] if user else []
		keys += [(ORDER, order) for order in orders]
		before = {key: self.load(*key) for key in keys}
		result = getattr(self.tools, name)(**arguments)
		for key in keys:
			after = self.dump(*key)
			if after != before[key]:
				self.save(*key, after)
		return result.model_dump() if hasattr(result, "model_dump") else result

	def load(self, doctype: str, name: str) -> dict:
		"""Loads a stored document into tau2's database; returns its values."""
		values = self.read(doctype, name)
		kind, table = (self.model.User, "users") if doctype == USER else (self.model.Order, "orders")
		getattr(self.database, table)[name] = kind.model_validate(values)
		return self.dump(doctype, name)

	def dump(self, doctype: str, name: str) -> dict:
		return getattr(self.database, "users" if doctype == USER else "orders")[name].model_dump()

	def read(self, doctype: str, name: str) -> dict:
		doc = frappe.get_doc(doctype, name)
		values = json.loads(doc.data)
		if doctype == USER:
			methods = [row_values(row, ("source", "id", "brand", "last_four")) for row in doc.methods]
			for method, row in zip(methods, doc.methods, strict=True):
				if method["source"] == "gift_card":
					method["balance"] = row.balance
			return {**values, "payment_methods": {method["id"]: method for method in methods}}
		items = [
			{
				**row_values(row, ("product_id", "item_id")),
				"name": row.title,
				"price": row.price,
				"options": json.loads(row.options),
			}
			for row in doc.items_table
		]
		payments = [
			{**row_values(row, ("transaction_type", "payment_method_id")), "amount": row.amount}
			for row in doc.payments
		]
		return {**values, "status": doc.status, "items": items, "payment_history": payments}

	def save(self, doctype: str, name: str, values: dict) -> None:
		is_new = not frappe.db.exists(doctype, name)
		doc = frappe.get_doc({"doctype": doctype}) if is_new else frappe.get_doc(doctype, name)
		if doctype == USER:
			rest = {key: value for key, value in values.items() if key != "payment_methods"}
			set_table(doc, "methods", list(values["payment_methods"].values()))
		else:
			rest = {k: v for k, v in values.items() if k not in ("items", "payment_history", "status")}
			doc.status = values["status"]
			items = [
				{**item, "title": item["name"], "options": json.dumps(item["options"])}
				for item in values["items"]
			]
			set_table(doc, "items_table", [{k: v for k, v in item.items() if k != "name"} for item in items])
			set_table(doc, "payments", values["payment_history"])
		doc.data = json.dumps(rest, sort_keys=True)
		doc.insert(set_name=name) if is_new else doc.save()

	def fill(self) -> None:
		for doctype, table in ((USER, "users"), (ORDER, "orders")):
			for name in self.data[table]:
				if not frappe.db.exists(doctype, name):
					self.save(doctype, name, self.dump(doctype, name))
		frappe.db.commit()

	def reload(self, names: list[tuple[str, str]]) -> str:
		"""Reloads documents; returns tau2's own hash of its whole database."""
		for doctype, name in names:
			self.load(doctype, name)
		return self.database.get_hash()


def row_values(row, names) -> dict:
	return {name: row.get(name) for name in names if row.get(name) is not None}


def set_table(doc, table: str, rows: list[dict]) -> None:
	"""Updates rows in order and appends missing ones, as a form does."""
	for number, values in enumerate(rows):
		if number < len(doc.get(table) or ()):
			doc.get(table)[number].update(values)
		else:
			doc.append(table, values)


@tool()
def call_shop(name: str, arguments: dict):
	"""Calls a tool of the shop; as in tau2, a refusal is a result, and the gold calls continue after it."""
	try:
		return Shop.current.call(name, arguments)
	except (ValueError, frappe.DoesNotExistError) as error:
		return {"error": str(error)}


def make_shop_doctypes() -> None:
	if frappe.db.exists("DocType", ORDER):
		return
	texts = lambda *names: [field(name, "Data") for name in names]  # noqa: E731
	make_doctype(
		METHOD, [*texts("source", "id", "brand", "last_four"), field("balance", "Float")], [], istable=1
	)
	item = [*texts("title", "product_id", "item_id"), field("price", "Float"), field("options", "Long Text")]
	make_doctype(ITEM, item, [], istable=1)
	make_doctype(
		PAYMENT, [*texts("transaction_type", "payment_method_id"), field("amount", "Float")], [], istable=1
	)
	make_doctype(
		USER,
		[field("methods", "Table", options=METHOD), field("data", "Long Text")],
		RULES,
		autoname="prompt",
	)
	order = [
		*texts("status"),
		field("items_table", "Table", options=ITEM),
		field("payments", "Table", options=PAYMENT),
	]
	make_doctype(ORDER, [*order, field("data", "Long Text")], RULES, autoname="prompt")
	frappe.db.commit()


def import_tau2(root: Path):
	"""Imports tau2's data model and tools without the rest of its package, which needs more libraries."""
	for name in ("tau2", "tau2.domains", "tau2.domains.retail", "tau2.environment"):
		package = types.ModuleType(name)
		package.__path__ = [str(root / "src" / Path(*name.split(".")))]
		sys.modules[name] = package
	for name in ("loguru", "addict", "deepdiff", "docstring_parser", "toml", "dotenv"):
		try:
			importlib.import_module(name)
		except ImportError:
			sys.modules[name] = StubModule(name)
	return (
		importlib.import_module("tau2.domains.retail.data_model"),
		importlib.import_module("tau2.domains.retail.tools"),
	)


class StubModule(types.ModuleType):
	"""Replaces a library that tau2 imports but does not need here."""

	def __getattr__(self, name):
		if name.startswith("__"):
			raise AttributeError(name)
		return type(name, (), {"warning": print, "info": print, "debug": print})
