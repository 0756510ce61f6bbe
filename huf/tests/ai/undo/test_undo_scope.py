"""What an undo covers: runs, an undo, or what an agent or a trigger did since a time; and who may undo."""

from unittest.mock import patch

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.times import to_utc
from huf.ai.runs.replay import diff, replay
from huf.ai.storage.retention import blank_runs
from huf.ai.tools.registry import tool
from huf.ai.undo.scope import UndoSelection, parse_scope
from huf.ai.undo.undo import apply_undo, preview_undo
from huf.tests.ai.undo.runs import CREATE, UPDATE, UndoTestCase, Worker, changed_names, edit, undo
from huf.tests.doctypes import CASE, EDITOR, ORDER, PLAIN, field, make_case, make_doctype, make_order
from huf.tests.factories import make, make_tool, make_trigger, make_user, unique


@tool()
def create_and_send():
	"""Creates a document; its default effect is external."""
	return make("ToDo", description="sent elsewhere").name


class TestScope(UndoTestCase):
	def test_undo_is_a_run_that_can_be_undone_but_no_run_is_undone_twice(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		first = undo(run)["run"]
		self.assertEqual(frappe.db.get_value("Agent Run", first, ["status", "is_undo"]), ("Success", 1))
		self.assertEqual(frappe.db.count("Agent Tool Call", {"run": first}), 1)
		again = UndoSelection((run,))
		self.addCleanup(setattr, frappe.local, "lang", frappe.local.lang)
		frappe.local.lang = "de"
		with self.assertRaisesRegex(UsageError, "nichts rückgängig zu machen"):
			apply_undo(again, preview_undo(again)["digest"])
		undo(first)
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 2)
		undo(run)
		self.assertEqual(frappe.db.get_value(CASE, case.name, "amount"), 1)

	def test_an_undo_cannot_be_replayed_or_compared(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		undone = undo(run)["run"]
		for compare in (lambda: replay(undone), lambda: diff(undone, run), lambda: diff(run, undone)):
			with self.assertRaisesRegex(UsageError, "is an undo"):
				compare()

	def test_runs_of_an_agent_since_a_time_are_undone(self):
		case, other = make_case(amount=1), make_case(amount=1)
		worker = Worker(self.server, (CASE,))
		worker.run((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		since = frappe.utils.now()
		worker.run((UPDATE, CASE, {"name": case.name, "values": {"amount": 3}}))
		worker.run((UPDATE, CASE, {"name": other.name, "values": {"amount": 3}}))
		scope = parse_scope(agent=worker.agent, since=since)
		preview = preview_undo(scope)
		self.assertEqual(len(preview["runs"]), 2)
		apply_undo(scope, preview["digest"])
		amounts = [frappe.db.get_value(CASE, name, "amount") for name in (case.name, other.name)]
		self.assertEqual(amounts, [2, 1])

	def test_scope_can_be_one_document_or_the_runs_of_a_trigger(self):
		order, other = make_order("nail", note="before"), make_order("screw", note="before")
		worker = Worker(self.server, (ORDER,))
		since = frappe.utils.now()
		run = worker.run(
			(UPDATE, ORDER, {"name": order.name, "values": {"note": "after"}}),
			(UPDATE, ORDER, {"name": other.name, "values": {"note": "after"}}),
		)
		trigger = make("Agent Trigger", agent=worker.agent, trigger_type="Manual", trigger_name=unique("T"))
		frappe.db.set_value("Agent Run", run, "trigger", trigger.name)
		frappe.db.commit()
		scope = parse_scope(doctype=ORDER, name=order.name, since=since)
		preview = preview_undo(scope)
		self.assertEqual([each["name"] for each in preview["difference"]["changes"]], [order.name])
		apply_undo(scope, preview["digest"])
		self.assertEqual(frappe.db.get_value(ORDER, other.name, "note"), "after")
		scope = parse_scope(trigger=trigger.name, since=since)
		apply_undo(scope, preview_undo(scope)["digest"])
		self.assertEqual(frappe.db.get_value(ORDER, other.name, "note"), "before")
		for broken in (
			{},
			{"trigger": "x"},
			{"doctype": ORDER, "name": "x"},
			{"agent": "x", "trigger": "x", "since": since},
		):
			self.assertRaises(UsageError, parse_scope, **broken)

	def test_undo_and_undos_of_undos_do_not_fire_the_trigger_of_the_undone_run(self):
		case = make_case(amount=1)
		worker = Worker(self.server, (CASE,))
		run = worker.run((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		values = {
			"reference_doctype": CASE,
			"doc_event": "on_update",
			"run_as": make_user("Huf User", EDITOR),
		}
		own, other = (make_trigger(worker.agent, **values).name for _ in range(2))
		self.addCleanup(frappe.db.commit)
		for each in (own, other):
			self.addCleanup(frappe.delete_doc, "Agent Trigger", each, force=True)
		frappe.db.set_value("Agent Run", run, "trigger", own)
		frappe.db.commit()
		for each in ("undone", "made again", "undone again", "made once more"):
			with self.subTest(each):
				run = undo(run)["run"]
				of_case = {"reference_name": case.name, "trigger": ["in", (own, other)]}
				events = frappe.get_all("Agent Trigger Event", of_case, ["trigger", "status"])
				found = {(event.trigger, event.status) for event in events}
				self.assertEqual(found, {(own, "Skipped"), (other, "Queued")})

	def test_time_with_a_zone_is_converted_to_the_site_time_zone(self):
		naive = parse_scope(agent="x", since="2026-11-22 09:00").since
		aware = parse_scope(agent="x", since=to_utc(naive).isoformat()).since
		self.assertEqual(aware, naive)
		for broken in ("0001-01-01", "9999-12-31T23:59:59-14:00", "soon"):
			with self.assertRaisesRegex(UsageError, "is not a time"):
				parse_scope(agent="x", since=broken)

	def test_undo_of_a_document_changed_by_too_many_runs_is_refused(self):
		case, since = make_case(amount=1), frappe.utils.now()
		with patch("huf.ai.undo.scope.MAX_RUNS", 2):
			for amount in (2, 3, 4):
				self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": amount}}))
			with self.assertRaisesRegex(UsageError, "more than 2 runs"):
				preview_undo(parse_scope(doctype=CASE, name=case.name, since=since))

	def test_external_calls_are_listed_with_their_compensating_requests(self):
		from huf.ai.storage.rows import insert_row

		tool = make_tool(
			"POST",
			base_url="http://127.0.0.1:9",
			compensate='{"method": "DELETE", "url": "/orders/{result.id}"}',
		)
		run = self.run_calls((CREATE, "ToDo", {"description": "x"}))
		insert_row(
			"Agent Tool Call",
			{
				"run": run,
				"tool": tool,
				"effect": "external",
				"status": "Success",
				"step": 1,
				"position": 1,
				"arguments": '{"url": "/orders"}',
				"result": '{"status": 201, "body": {"id": 17}}',
			},
		)
		frappe.db.commit()
		(call,) = preview_undo(UndoSelection((run,)))["external"]
		self.assertEqual(call["compensate"], {"method": "DELETE", "url": "/orders/17"})

	def test_external_call_is_listed_even_if_its_documents_are_restored(self):
		name = make_tool("Custom Function", function_path=f"{__name__}.create_and_send")
		preview = undo(Worker(self.server, (), name).run((name, None, {})))["preview"]
		self.assertEqual([each["tool"] for each in preview["external"]], [name])
		self.assertEqual([each["action"] for each in preview["difference"]["changes"]], ["delete"])

	def test_run_blanked_by_retention_cannot_be_undone(self):
		case = make_case(amount=1)
		run = self.run_calls((UPDATE, CASE, {"name": case.name, "values": {"amount": 2}}))
		blank_runs([run])
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, "retention"):
			preview_undo(UndoSelection((run,)))


class TestChangedDocTypes(UndoTestCase):
	def setUp(self):
		super().setUp()
		self.doctype, rows = unique("Huf Gone"), unique("Huf Row")
		make_doctype(rows, [field("item", "Data")], [], istable=1)
		fields = [field("title", "Data"), field("extra", "Data"), field("lines", "Table", options=rows)]
		make_doctype(self.doctype, fields, [{**PLAIN, "role": "System Manager"}], autoname="hash")
		self.name = make(self.doctype, title="a", extra="a", lines=[{"item": "a"}]).name
		self.case = make_case(amount=1)
		self.addCleanup(self.remove)
		values = {"title": "b", "extra": "b", "lines": [{"item": "b"}]}
		self.run_name = Worker(self.server, (self.doctype, CASE)).run(
			(UPDATE, self.doctype, {"name": self.name, "values": values}),
			(UPDATE, CASE, {"name": self.case.name, "values": {"amount": 2}}),
		)

	def remove(self):
		frappe.delete_doc("DocType", self.doctype, force=True, ignore_missing=True)
		frappe.db.commit()
		frappe.clear_cache()

	def test_removed_fields_and_tables_are_omitted(self):
		doctype = frappe.get_doc("DocType", self.doctype)
		doctype.fields = doctype.fields[:1]
		doctype.save()
		frappe.clear_cache()
		self.assertEqual(undo(self.run_name)["preview"]["conflicts"], [])
		self.assertEqual(frappe.db.get_value(self.doctype, self.name, "title"), "a")

	def test_undo_omits_documents_of_a_removed_doctype(self):
		self.remove()
		(call,) = undo(self.run_name)["preview"]["untraced"]
		self.assertIn(self.name, call["arguments"])
		self.assertEqual(frappe.db.get_value(CASE, self.case.name, "amount"), 1)


class TestPermission(UndoTestCase):
	def setUp(self):
		super().setUp()
		self.case = make_case(amount=1)
		self.run_name = self.run_calls(
			(UPDATE, CASE, {"name": self.case.name, "values": {"amount": 2, "fee": "new fee"}})
		)

	def test_a_user_who_may_not_read_the_run_undoes_nothing(self):
		frappe.set_user(make_user("Huf User", EDITOR))
		with self.assertRaises(frappe.PermissionError):
			preview_undo(UndoSelection((self.run_name,)))

	def test_a_user_who_may_not_write_the_document_undoes_nothing(self):
		frappe.set_user(make_user("Huf Manager"))
		preview = preview_undo(UndoSelection((self.run_name,)))
		self.assertEqual((preview["problems"], preview["hidden"]), ([], 1))
		self.assertNotIn(self.case.name, frappe.as_json(preview))
		with self.assertRaises(UsageError):
			apply_undo(UndoSelection((self.run_name,)), preview["digest"])
		self.assertEqual(frappe.db.get_value(CASE, self.case.name, "amount"), 2)

	def test_field_above_the_user_permlevel_is_not_restored_but_listed(self):
		frappe.set_user(make_user("Huf Manager", EDITOR))
		done = undo(self.run_name)
		self.assertEqual(done["restored"][0]["left"], ["fee"])
		self.assertEqual(done["preview"]["notes"][0]["left"], ["Fee"])
		stored = frappe.db.get_value(CASE, self.case.name, ["amount", "fee"])
		self.assertEqual(tuple(stored), (1, "new fee"))
		self.assertNotIn("SECRET-FEE", frappe.as_json(done["preview"]))

	def test_undo_that_can_only_restore_hidden_fields_is_refused_and_left_to_others(self):
		run = self.run_calls((UPDATE, CASE, {"name": self.case.name, "values": {"fee": "newer fee"}}))
		frappe.set_user(make_user("Huf Manager", EDITOR))
		(problem,) = preview_undo(UndoSelection((run,)))["problems"]
		self.assertIn("Fee", problem["error"])
		for decisions in ({}, {problem["key"]: "keep"}):
			with self.assertRaises(UsageError):
				undo(run, **decisions)
		frappe.set_user("Administrator")
		undo(run)
		self.assertEqual(frappe.db.get_value(CASE, self.case.name, "fee"), "new fee")

	def test_undo_in_which_only_hidden_fields_conflict_is_refused(self):
		run = self.run_calls((UPDATE, CASE, {"name": self.case.name, "values": {"fee": "newer fee"}}))
		edit(CASE, self.case.name, fee="newest fee")
		frappe.set_user(make_user("Huf Manager", EDITOR))
		self.assertEqual(preview_undo(UndoSelection((run,)))["hidden"], 1)
		with self.assertRaisesRegex(UsageError, "restore nothing"):
			undo(run)
		with self.assertRaisesRegex(UsageError, "Fee"):
			undo(run, **{"*": "restore"})
		frappe.set_user("Administrator")
		undo(run, **{"*": "restore"})
		self.assertEqual(frappe.db.get_value(CASE, self.case.name, "fee"), "new fee")

	def test_documents_that_the_user_may_not_read_are_kept_and_can_be_undone_by_others(self):
		note = make("Note", title=unique("Note"), public=0, content="before")
		frappe.db.commit()
		run = Worker(self.server, (CASE, "Note")).run(
			(UPDATE, CASE, {"name": self.case.name, "values": {"amount": 3}}),
			(UPDATE, "Note", {"name": note.name, "values": {"content": "after"}}),
		)
		frappe.set_user(make_user("Huf Manager", EDITOR))
		self.assertEqual(undo(run)["preview"]["hidden"], 1)
		self.assertEqual(frappe.db.get_value(CASE, self.case.name, "amount"), 2)
		frappe.set_user("Administrator")
		self.assertIn("after", frappe.db.get_value("Note", note.name, "content"))
		undo(run)
		self.assertIn("before", frappe.db.get_value("Note", note.name, "content"))

	def test_conflict_about_a_whole_document_shows_its_readable_fields(self):
		run = self.run_calls((CREATE, CASE, {"title": "New", "fee": "first fee"}))
		(name,) = changed_names(run)
		edit(CASE, name, title="Edited", fee="other fee")
		frappe.set_user(make_user("Huf Manager", EDITOR))
		preview = preview_undo(UndoSelection((run,)))
		(conflict,) = preview["conflicts"]
		self.assertEqual((conflict["written"], conflict["current"]), ({"title": "New"}, {"title": "Edited"}))
		self.assertNotIn("other fee", frappe.as_json(preview))
		self.assertEqual(conflict["fields"], {"title": {"label": "Title", "fieldtype": "Data"}})
		undo(run, **{conflict["key"]: "restore"})
		self.assertFalse(frappe.db.exists(CASE, name))

	def test_conflict_about_a_row_shows_its_readable_fields(self):
		order = make_order("nail")
		run = Worker(self.server, (ORDER,)).run(
			(UPDATE, ORDER, {"name": order.name, "values": {"lines": [{"item": "nail"}, {"item": "glue"}]}})
		)
		doc = frappe.get_doc(ORDER, order.name)
		doc.lines[1].update({"qty": 7, "margin": 4321})
		doc.save()
		frappe.db.commit()
		frappe.set_user(make_user("Huf Manager", EDITOR))
		preview = preview_undo(UndoSelection((run,)))
		(conflict,) = preview["conflicts"]
		self.assertEqual((conflict["current"]["item"], conflict["current"]["qty"]), ("glue", 7))
		self.assertNotIn("margin", frappe.as_json(preview["conflicts"]))
