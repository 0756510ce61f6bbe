"""Random runs with edits by people in between: undo restores every field or names it as a conflict.

HUF_UNDO_EXAMPLES: the number of examples, 100 by default.
"""

import os
from collections.abc import Callable
from itertools import groupby

import frappe
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from huf.ai.core.errors import UsageError
from huf.ai.storage.agent_changes import insert_changes
from huf.ai.storage.rows import insert_row
from huf.ai.undo.capture import CallChanges, read_stored_image
from huf.ai.undo.scope import UndoSelection
from huf.ai.undo.undo import apply_undo, preview_undo
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CUSTOMER, ORDER, make_doctypes
from huf.tests.factories import make, make_agent

EXAMPLES = int(os.environ.get("HUF_UNDO_EXAMPLES", 100))
ITEMS = ("nail", "screw", "bolt")
FIELDS = {"status": ("New", "Paid"), "note": (None, "a", "b"), "ordered_at": (None, "2026-01-02 03:04:05")}

documents = st.integers(0, 2)
values = st.fixed_dictionaries(
	{}, optional={name: st.sampled_from(choices) for name, choices in FIELDS.items()}
)
lines = st.none() | st.lists(
	st.tuples(st.integers(0, 3), st.sampled_from(ITEMS), st.integers(1, 3)), max_size=3
)
steps = st.one_of(
	st.tuples(st.just("update"), documents, values, lines),
	st.tuples(st.just("delete"), documents),
	st.tuples(st.just("create"), documents, values, lines),
)
actors = st.sampled_from(["run", "person"])
actions = st.lists(st.tuples(actors, steps), min_size=1, max_size=8)


class TestUndoProperty(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		make_doctypes()
		if not frappe.db.exists(CUSTOMER, "Anna"):
			make(CUSTOMER, title="Anna", city="Brno")
		cls.agent = make_agent()

	@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
	@given(actions)
	def test_every_field_is_restored_or_named_as_a_conflict(self, sequence):
		names = [f"undo-{frappe.generate_hash(length=8)}" for _ in range(3)]
		create(names[0], {}, [(0, "nail", 1)])
		create(names[1], {"note": "b"}, None)
		frappe.db.commit()
		started = {name: read_stored_image(ORDER, name) for name in names}
		run = insert_row("Agent Run", {"agent": self.agent, "status": "Success", "run_as": "Administrator"})
		histories = self.execute(run, names, sequence)
		ended = {name: read_stored_image(ORDER, name) for name in names}
		if not frappe.db.count("Agent Change", {"run": run}):
			return
		preview = preview_undo(UndoSelection((run,)))
		self.assertEqual(
			{name: read_stored_image(ORDER, name) for name in names}, ended, "a preview changes nothing"
		)
		self.assertEqual(preview["problems"], [])
		try:
			undo = apply_undo(UndoSelection((run,)), preview["digest"])["run"]
		except UsageError as error:
			self.assertIn("restore nothing", str(error))
			return self.assertEqual(preview["difference"]["changes"], [])
		conflicts = {(each["name"], *each["path"]) for each in preview["conflicts"]}
		for name in names:
			self.check(name, started[name], read_stored_image(ORDER, name), histories[name], conflicts)
		if frappe.db.count("Agent Change", {"run": undo}):
			again = preview_undo(UndoSelection((undo,)))
			self.assertEqual(again["conflicts"], [])
			apply_undo(UndoSelection((undo,)), again["digest"])
		for name in names:
			self.assertEqual(without_creation(read_stored_image(ORDER, name)), without_creation(ended[name]))

	def execute(self, run: str, names: list[str], sequence: list) -> dict[str, list]:
		"""Executes the steps; returns the history of each document."""
		histories: dict[str, list] = {name: [] for name in names}
		for actor, (verb, number, *arguments) in sequence:
			changes = CallChanges()
			if actor == "run":
				changes.begin()
			before = read_stored_image(ORDER, names[number])
			VERBS[verb](names[number], *arguments)
			if actor == "run":
				call = insert_row(
					"Agent Tool Call", {"run": run, "tool": verb, "effect": "write", "status": "Success"}
				)
				insert_changes(run, call, changes.end())
			after = read_stored_image(ORDER, names[number])
			if before != after:
				histories[names[number]].append((actor, before, after))
			frappe.db.commit()
		return histories

	def check(self, name: str, started, now, history: list, conflicts: set) -> None:
		"""`history`: (actor, image before, image after) of every step that changed the document."""
		if history and history[0][:2] == ("person", None):
			# A document created by a person counts as having existed before.
			self.check(name, history[0][2], now, history[1:], conflicts)
		elif all(actor == "run" for actor, _, _ in history):
			self.assertEqual(without_row_numbers(now), without_row_numbers(started))
		elif all(before and after for _, before, after in history):
			for field in FIELDS:
				if (name, field) not in conflicts:
					wanted = value_without_run(field, started, history)
					self.assertEqual(now["fields"][field], wanted, field)
		elif not any(each[0] == name for each in conflicts):
			written = [without_creation(after) for _, _, after in history if after]
			self.assertTrue(now is None or started is not None or without_creation(now) in written)


def value_without_run(field: str, started: dict, history: list):
	"""The value of a field if only people had changed it: the last one that a person's turn set."""
	value = started["fields"][field]
	for actor, turn in groupby(history, lambda each: each[0]):
		images = list(turn)
		before, after = images[0][1]["fields"][field], images[-1][2]["fields"][field]
		if actor == "person" and before != after:
			value = after
	return value


def create(name: str, given: dict, rows) -> None:
	if not frappe.db.exists(ORDER, name):
		doc = frappe.get_doc({"doctype": ORDER, "customer": "Anna", **given})
		for _, item, qty in rows or ():
			doc.append("lines", {"item": item, "qty": qty})
		doc.insert(set_name=name)


def update(name: str, given: dict, rows) -> None:
	if not frappe.db.exists(ORDER, name):
		return
	doc = frappe.get_doc(ORDER, name)
	doc.update(given)
	if rows is not None:
		existing = list(doc.lines)
		doc.set("lines", [])
		for index, item, qty in rows:
			if index < len(existing) and existing[index] not in doc.lines:
				row = doc.append("lines", existing[index])
			else:
				row = doc.append("lines", {})
			row.update({"item": item, "qty": qty, "idx": len(doc.lines)})
	doc.save()


def delete(name: str) -> None:
	if frappe.db.exists(ORDER, name):
		frappe.delete_doc(ORDER, name)


VERBS: dict[str, Callable] = {"create": create, "update": update, "delete": delete}


def without_row_numbers(image):
	"""The image with its rows in order and without their numbers."""
	if image is None:
		return None
	rows = {
		table: [
			(name, {key: value for key, value in row.items() if key != "idx"})
			for name, row in sorted(rows.items(), key=lambda each: each[1]["idx"])
		]
		for table, rows in image["rows"].items()
	}
	return {**image, "rows": rows}


def without_creation(image):
	image = without_row_numbers(image)
	return image and {key: value for key, value in image.items() if key not in ("owner", "creation")}
