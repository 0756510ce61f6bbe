"""Secrets behind every kind of permission never reach a user who may not read them."""

import io
import json
import logging
from collections.abc import Callable
from contextlib import contextmanager
from unittest.mock import patch

import frappe

from huf.ai.core.types import AgentRequest
from huf.ai.knowledge.indexing import index_source
from huf.ai.knowledge.store import delete_items
from huf.ai.runs.entry import stream_agent
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import (
	CASE,
	EDITOR,
	LEAD,
	ORDER,
	OWNER,
	READER,
	TEAM,
	make_case,
	make_doctypes,
	make_order,
)
from huf.tests.factories import make, make_agent, make_model, make_tool, make_user, unique
from huf.tests.knowledge import attach, everything_owned, find, make_source
from huf.tests.model_server import ModelServer, text, tool_call

RECORDS = (
	"Agent Run",
	"Agent LLM Call",
	"Agent Tool Call",
	"Agent Message",
	"Agent Conversation",
	"Error Log",
)


def by_role(canary: str):
	make_case(title=f"Roof {canary}")
	return make_user("Huf User"), make_source(reference_doctype=CASE), make_user("Huf User", READER)


def by_owner(canary: str):
	make_case(title=f"Roof {canary}")
	return make_user("Huf User", OWNER), make_source(reference_doctype=CASE), make_user("Huf User", READER)


def by_user_permission(canary: str):
	other_team, own_team = (make(TEAM, title=unique("Team")).name for _ in range(2))
	make_case(title=f"Roof {canary}", team=other_team)
	make_case(title="Roof of mine", team=own_team)
	user, other = make_user("Huf User", EDITOR), make_user("Huf User", EDITOR)
	make("User Permission", user=user, allow=TEAM, for_value=own_team)
	return user, make_source(reference_doctype=CASE), other


def by_share(canary: str):
	hidden, shared = make_case(title=f"Roof {canary}"), make_case(title="Roof that is shared")
	user, other = make_user("Huf User"), make_user("Huf User")
	frappe.share.add(CASE, shared.name, user, read=1)
	frappe.share.add(CASE, hidden.name, other, read=1)
	return user, make_source(reference_doctype=CASE), other


def by_permission_level(canary: str):
	make_case(title="Roof", fee=f"roof {canary}")
	source = make_source(reference_doctype=CASE, document_fields="title\nfee")
	return make_user("Huf User", EDITOR), source, make_user("Huf User", LEAD)


def by_level_of_the_only_field(canary: str):
	make_case(title="Roof", fee=f"roof {canary}")
	source = make_source(reference_doctype=CASE, document_fields="fee")
	return make_user("Huf User", EDITOR), source, make_user("Huf User", LEAD)


def by_level_in_a_row(canary: str):
	order = make_order(f"roof {unique('nail')}")
	frappe.db.set_value("Huf Test Order Line", order.lines[0].name, "margin", 4815162342)
	frappe.db.commit()
	source = make_source(reference_doctype=ORDER, document_fields="lines.item\nlines.margin")
	return make_user("Huf User", READER), source, make_user("Huf User", LEAD)


def by_level_that_was_raised(canary: str):
	make_case(title="Roof", status="Open", fee=f"roof {canary}")
	frappe.db.set_value("DocField", {"parent": CASE, "fieldname": "fee"}, "permlevel", 0)
	frappe.clear_cache(doctype=CASE)
	source = make_source(reference_doctype=CASE, document_fields="title\nfee")
	frappe.db.set_value("DocField", {"parent": CASE, "fieldname": "fee"}, "permlevel", 1)
	frappe.clear_cache(doctype=CASE)
	return make_user("Huf User", EDITOR), source, make_user("Huf User", LEAD)


def by_hooks(canary: str):
	"""The permission hooks of an app: Huf's own, for conversations."""
	user, other = make_user("Huf User"), make_user("Huf User")
	doc = make("Agent Conversation", title=f"Roof {canary}", channel="chat", agent=make_agent())
	frappe.db.set_value("Agent Conversation", doc.name, "owner", other)
	frappe.db.commit()
	return user, make_source(reference_doctype="Agent Conversation", document_fields="title"), other


def by_private_file(canary: str):
	doc = make_case(title="Roof")
	attach(CASE, doc.name, f"{canary}.txt", f"Roof {canary}")
	source = make_source(reference_doctype=CASE, with_attachments=1)
	return make_user("Huf User", OWNER), source, make_user("Huf User", READER)


def by_field_of_a_file(canary: str):
	doc = make_case(title="Roof")
	attach(CASE, doc.name, f"{canary}.txt", f"Roof {canary}", attached_to_field="fee")
	source = make_source(reference_doctype=CASE, with_attachments=1)
	return make_user("Huf User", EDITOR), source, make_user("Huf User", LEAD)


def by_public_file_of_a_secret_document(canary: str):
	doc = make_case(title="Roof")
	attach(CASE, doc.name, f"{canary}.txt", f"Roof {canary}", is_private=0)
	source = make_source(reference_doctype=CASE, with_attachments=1)
	return make_user("Huf User"), source, make_user("Huf User", READER)


def by_role_of_the_source(canary: str):
	source = make_source((f"{canary}.md", f"# Roof {canary}\n\nroof"), roles=[{"role": LEAD}])
	return make_user("Huf User"), source, make_user("Huf User", LEAD)


def by_right_that_was_taken(canary: str):
	doc, user, other = make_case(title=f"Roof {canary}"), make_user("Huf User"), make_user("Huf User")
	for each in (user, other):
		frappe.share.add(CASE, doc.name, each, read=1)
	source = make_source(reference_doctype=CASE)
	find("roof", source, user)
	frappe.share.remove(CASE, doc.name, user)
	return user, source, other


KINDS = (
	*(by_role, by_owner, by_user_permission, by_share, by_permission_level, by_level_of_the_only_field),
	*(by_level_in_a_row, by_level_that_was_raised, by_hooks, by_private_file, by_field_of_a_file),
	*(by_public_file_of_a_secret_document, by_role_of_the_source, by_right_that_was_taken),
)
"""Each stores a secret and returns (a user who may not read it, its source, a user who may)."""


class TestCanaries(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		frappe.set_user("Administrator")
		make_doctypes()

	def for_each_kind(self, check):
		for kind in KINDS:
			with self.subTest(kind.__name__):
				frappe.set_user("Administrator")
				# Submitted documents of other tests cannot be deleted.
				for name in frappe.get_all(CASE, {"docstatus": ["!=", 1]}, pluck="name", order_by="name"):
					frappe.delete_doc(CASE, name, force=True)
				canary = f"canary{frappe.generate_hash(length=12)}"
				user, source, other = kind(canary)
				frappe.db.commit()
				check(user, source, other, "4815162342" if kind is by_level_in_a_row else canary)

	def test_search_returns_a_secret_only_to_users_who_may_read_it(self):
		def check(user, source, other, canary):
			for query in ("roof", f"roof {canary}", canary, f"{canary[:4]}*", f'"{canary}"'):
				self.assertNotIn(canary, json.dumps(find(query, source, user)), query)
			self.assertIn(canary, json.dumps(find(f"roof {canary}", source, other)))

		self.for_each_kind(check)

	def test_results_without_permission_do_not_depend_on_the_secret(self):
		def check(user, source, other, canary):
			before = find("roof shared mine", source, user)
			secret = {row["name"] for row in find(canary, source, other) if canary in row["text"]}
			for item in frappe.get_all("Knowledge Item", {"source": source}, ["name", "reference_name"]):
				if item.reference_name in secret - {row["name"] for row in before}:
					delete_items([item.name])
			self.assertEqual(find("roof shared mine", source, user), before)

		self.for_each_kind(check)

	def test_no_secret_gets_into_a_prompt_a_stream_a_record_or_a_log(self):
		log_output = io.StringIO()
		handler = logging.StreamHandler(log_output)
		logging.getLogger().addHandler(handler)
		self.addCleanup(logging.getLogger().removeHandler, handler)

		def check(user, source, other, canary):
			requests, events = ask_agent(user, source)
			self.assertEqual(len(requests), 2)
			self.assertNotIn(canary, json.dumps(requests))
			self.assertNotIn(canary, repr(events))
			self.assertNotIn(canary, everything_owned(user, *RECORDS))
			self.assertNotIn(canary, log_output.getvalue())

		self.for_each_kind(check)

	def test_a_query_condition_or_has_permission_hook_alone_hides_a_secret(self):
		canary = f"canary{frappe.generate_hash(length=12)}"
		make_case(title=f"Roof {canary}")
		source, user = make_source(reference_doctype=CASE), make_user("Huf User", READER)
		self.assertIn(canary, json.dumps(find(canary, source, user)))
		for hook, function in (("permission_query_conditions", no_rows), ("has_permission", refuse)):
			with self.subTest(hook), with_hook(hook, function):
				self.assertEqual(find(canary, source, user), [])

	def test_index_doctypes_are_not_readable_even_by_managers(self):
		make_source(("a.txt", "The roof leaks"))
		user = make_user("System Manager", "Huf Manager", "Huf User")
		for doctype in ("Knowledge Item", "Knowledge Chunk"):
			self.assertFalse(frappe.has_permission(doctype, "read", user=user))
			self.assertRaises(frappe.PermissionError, frappe.get_list, doctype, user=user)

	def test_a_deleted_secret_is_removed_from_index_and_results(self):
		canary = f"canary{frappe.generate_hash(length=12)}"
		doc = make_case(title=f"Roof {canary}")
		source = make_source(reference_doctype=CASE)
		self.assertTrue(find(canary, source))
		doc.delete()
		self.assertEqual(find(canary, source), [])
		rows = frappe.get_all("Knowledge Chunk", fields=["*"], order_by="name")
		self.assertNotIn(canary, json.dumps(rows, default=str))
		frappe.db.commit()
		index_source(source)
		self.assertEqual(find(canary, source), [])


def no_rows(user=None, doctype=None) -> str:
	return "1 = 0"


def refuse(doc, ptype=None, user=None) -> bool:
	return False


@contextmanager
def with_hook(hook: str, function: Callable):
	"""Add a permission hook of an app for cases."""
	original = frappe.get_hooks

	def get_hooks(name=None, *args, **kwargs):
		hooks = original(name, *args, **kwargs)
		path = f"{function.__module__}.{function.__qualname__}"
		return {**hooks, CASE: [path]} if name == hook else hooks

	with patch("frappe.get_hooks", get_hooks):
		yield


def ask_agent(user: str, source: str) -> tuple[list, list]:
	"""(requests to the model, streamed events) of a user's question to an agent that searches a source."""
	with ModelServer() as server:
		tool = make_tool("Search Knowledge")
		agent = make_agent(make_model(server), (tool,), knowledge=[{"source": source}])
		server.script(tool_call(tool, {"query": "roof"}), text("That is all."))
		frappe.set_user(user)
		events = list(stream_agent(AgentRequest(agent, "What is with the roof?", user, channel="s")))
	frappe.set_user("Administrator")
	return server.requests, events
