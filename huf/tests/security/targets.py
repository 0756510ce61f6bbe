"""The targets of attacks: the endpoints in Huf's source, and its DocTypes with their fields."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HUF = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Endpoint:
	path: str
	parameters: tuple[str, ...]
	methods: tuple[str, ...]
	allow_guest: bool


def list_endpoints() -> Iterator[Endpoint]:
	"""Every function that Huf's source marks with `frappe.whitelist`."""
	for file in sorted(HUF.rglob("*.py")):
		parts = file.relative_to(HUF.parent).with_suffix("").parts
		if {"tests", "embedded", "ui", "public"} & set(parts):
			continue
		body = ast.parse(file.read_text()).body
		constants = {
			ast.unparse(each.targets[0]): each.value for each in body if isinstance(each, ast.Assign)
		}
		for node in body:
			if not isinstance(node, ast.FunctionDef):
				continue
			for mark in node.decorator_list:
				if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "frappe.whitelist":
					values = {each.arg: each.value for each in mark.keywords}
					given = {
						name: ast.literal_eval(constants.get(ast.unparse(value), value))
						for name, value in values.items()
					}
					names = tuple(each.arg for each in (*node.args.args, *node.args.kwonlyargs))
					path = ".".join((*parts, node.name))
					methods = tuple(given.get("methods") or ("GET", "POST"))
					yield Endpoint(path, names, methods, bool(given.get("allow_guest")))


@dataclass(frozen=True)
class Target:
	"""A DocType: `fields` are dicts of its JSON; for a child table, `parent` is (DocType, field)."""

	doctype: str
	fields: tuple[dict, ...]
	is_single: bool = False
	parent: tuple[str, str] | None = None

	@property
	def fieldnames(self) -> list[str]:
		return [each["fieldname"] for each in self.fields]


def list_targets() -> list[Target]:
	"""Huf's DocTypes, and two of Frappe's."""
	targets = [make_target(doctype, fieldnames) for doctype, fieldnames in FRAPPE_FIELDS.items()]
	files = sorted((HUF / "huf" / "doctype").glob("*/*.json"))
	described = [each for each in map(json.loads, map(Path.read_text, files)) if each["doctype"] == "DocType"]
	parents = {
		row["options"]: (each["name"], row["fieldname"])
		for each in described
		for row in each["fields"]
		if row["fieldtype"] == "Table"
	}
	for each in described:
		parent = parents[each["name"]] if each.get("istable") else None
		targets.append(Target(each["name"], tuple(each["fields"]), bool(each.get("issingle")), parent))
	return targets


def make_target(doctype: str, fieldnames: str) -> Target:
	return Target(doctype, tuple({"fieldname": each} for each in fieldnames.split()))


FRAPPE_FIELDS = {
	"ToDo": "description allocated_to status reference_type reference_name assigned_by",
	"File": "file_url is_private attached_to_doctype attached_to_name content is_folder",
}
