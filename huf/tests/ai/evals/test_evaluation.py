"""Eval cases run with real records and a model over HTTP, and leave nothing behind."""

from unittest import mock

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.evals import dry_runs
from huf.ai.evals.cases import dump_definition
from huf.ai.evals.runner import RECORDED, evaluate_agent
from huf.ai.storage.stops import add_stop, remove_stop
from huf.tests.ai.storage.test_budgets import settings
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import CASE, CUSTOMER, ORDER, READER, TEAM, controller, make_case, make_doctypes
from huf.tests.factories import make, make_agent, make_model, make_role, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.packs.samples import what_there_is


class EvalTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		key = frappe.generate_hash(length=6)
		self.create = make_tool("Create Document", f"make_{key}", reference_doctype="ToDo")
		self.update = make_tool("Update Document", f"change_{key}", reference_doctype="ToDo")
		self.read = make_tool("Get List", f"list_{key}", reference_doctype="ToDo")
		self.agent = make_agent(tools=(self.create, self.update, self.read, "web_search"))
		self.description = unique("Call")

	def case(self, *expect: dict, name: str = "one", prompt: str = "Do it.", **values) -> str:
		definition = dump_definition({"expect": list(expect), **values})
		case = make("Agent Eval Case", agent=self.agent, case_name=name, prompt=prompt, definition=definition)
		frappe.db.commit()
		return case.name

	def run_cases(self, model: str | None = RECORDED, times: int = 1, **more):
		return evaluate_agent(self.agent, times, model, **more)

	def faults(self, **more) -> list[str]:
		return [fault for each in self.run_cases(**more).as_dict()["cases"] for fault in each["faults"]]

	def build_create_call(self) -> dict:
		return {"call": self.create, "with": {"description": self.description}}


class TestCases(EvalTestCase):
	def test_calls_see_earlier_changes_of_their_case_and_all_are_rolled_back(self):
		record = {"record": "ToDo", "where": {"description": self.description}}
		list_call = {"call": self.read, "with": {"filters": {"description": self.description}}}
		answers = [self.build_create_call(), list_call, {"say": "Done."}]
		self.case({**record, "values": {"status": "Open"}, "count": 1}, {"calls": self.read}, answers=answers)
		before = what_there_is()
		attempt = self.run_cases().results[0].attempts[0]
		self.assertEqual(attempt.faults, ())
		created, listed = (frappe.parse_json(call.result) for call in attempt.trace.calls)
		self.assertEqual(str(listed).count(str(created["name"])), 1)
		self.assertEqual(what_there_is(), before)

	def test_an_unreadable_case_fails_without_affecting_the_others(self):
		self.case({"says": "Done"}, name="a good one", answers=[{"say": "Done."}])
		broken = self.case({"says": "Done"}, name="broken", answers=[{"say": "Done."}])
		frappe.db.set_value("Agent Eval Case", broken, "definition", "expect: [{shouts: x}]")
		frappe.db.commit()
		faults = {each["case"]: each["faults"] for each in self.run_cases().as_dict()["cases"]}
		self.assertEqual(faults["a good one"], [])
		self.assertIn("this case cannot be read: Line 1: expect one of these", faults["broken"][0])

	def test_a_case_that_is_deleted_during_the_eval_is_skipped(self):
		for name in ("a", "b", "c"):
			self.case({"says": "yes"}, name=name, answers=[{"say": "yes"}])

		def delete(result) -> None:
			frappe.db.delete("Agent Eval Case", {"agent": self.agent, "case_name": "b"})

		report = self.run_cases(on_result=delete)
		self.assertEqual([bool(each.skipped) for each in report.results], [False, True, False])

	def test_roles_of_a_case_do_not_lift_the_user_permissions_of_its_author(self):
		make_doctypes()
		teams = [make(TEAM, title=unique("Team")).name for _ in range(2)]
		cases = [make_case(title=unique("Roof"), team=team) for team in teams]
		tool = make_tool("Get List", reference_doctype=CASE)
		self.agent = make_agent(tools=(tool,))
		manager = make_user("Huf Manager", READER)
		make("User Permission", user=manager, allow=TEAM, for_value=teams[0])
		answers = [{"call": tool, "with": {}}, {"say": "Done."}]
		self.case({"says": "Done"}, roles=["Huf Manager", READER], answers=answers)
		for user, count in ((manager, 1), ("Administrator", 2)):
			with acting_as(user):
				(call,) = self.run_cases().results[0].attempts[0].trace.calls
			self.assertEqual([each.name in call.result for each in cases].count(True), count)

	def test_a_case_whose_records_its_author_may_not_make_says_which(self):
		make_doctypes()
		manager = make_user("Huf Manager")
		self.case({"says": "x"}, records=[{"doctype": TEAM, "title": "A"}], answers=[{"say": "x"}])
		with acting_as(manager):
			(fault,) = self.faults()
		self.assertIn("not permitted", fault)
		self.assertIn(TEAM, fault)

	def test_a_case_with_records_is_refused_where_the_site_has_too_many_of_them_to_lock(self):
		make_doctypes()
		for _place in range(3):
			make(TEAM, title=unique("Team"))
		self.case({"says": "x"}, records=[{"doctype": TEAM, "title": "A"}], answers=[{"say": "x"}])
		with mock.patch.object(dry_runs, "MAX_HIDDEN_RECORDS", 2):
			(fault,) = self.faults()
		self.assertIn("Run it on a site for tests", fault)

	def test_a_case_that_calls_a_tool_the_agent_no_longer_has_says_so(self):
		self.case({"calls": "renamed"}, answers=[{"call": "renamed", "with": {}}, {"say": "Done."}])
		(fault,) = self.faults()
		self.assertIn("instead: renamed({}) failed: ", fault)
		self.assertIn("There is no tool 'renamed'.", fault)

	def test_dates_of_recorded_arguments_need_no_quotes(self):
		name = self.case({"calls": self.create}, answers=[{"say": "Done."}])
		definition = (
			f"answers: [{{call: {self.create}, with: {{description: x, date: 2027-02-01}}}}, {{say: Done.}}]\n"
			f"expect: [{{calls: {self.create}, with: {{date: 2027-02-01}}}}]"
		)
		frappe.get_doc("Agent Eval Case", name).update({"definition": definition}).save()
		frappe.db.commit()
		self.assertEqual(self.faults(), [])

	def test_cases_with_invalid_records_fail_without_affecting_the_others(self):
		answers = [{"say": "Done."}]
		self.case({"says": "Done"}, name="a good one", answers=answers)
		for name, check in (
			("a check of a missing DocType", {"record": "No Such DocType", "where": {"name": "x"}}),
			("a check of a missing field", {"record": "ToDo", "where": {"no_such": 1}}),
			("a check with a wrong value", {"record": "ToDo", "where": {"description": {"a": 1}}}),
			("a check of settings", {"record": "Huf Settings", "count": 1}),
		):
			self.case(check, name=name, answers=answers)
		for name, record in (
			("a wrong date", {"doctype": "ToDo", "description": "x", "date": "tomorrow"}),
			("a wrong value", {"doctype": "ToDo", "description": {"a": 1}}),
			("an invalid record", {"doctype": "ToDo", "description": "x", "status": "No such status"}),
			("of a missing DocType", {"doctype": "No Such DocType", "title": "x"}),
		):
			self.case({"says": "Done"}, name=name, records=[record], answers=answers)
		results = {each.case: each.faults for each in self.run_cases().results}
		self.assertEqual([case for case, faults in results.items() if not faults], ["a good one"])

	def test_records_of_a_case_exist_only_while_it_runs(self):
		todo = {"doctype": "ToDo", "description": self.description}
		self.case(
			{"calls": self.read},
			{"record": "ToDo", "where": {"description": self.description}, "count": 1},
			records=[todo],
			answers=[{"call": self.read}, {"say": "One."}],
		)
		self.assertEqual(self.faults(), [])
		self.assertFalse(frappe.db.exists("ToDo", {"description": self.description}))

	def test_a_case_runs_as_a_temporary_user_with_its_roles(self):
		role = make_role()
		frappe.db.commit()
		self.case(
			{"fails": self.create},
			{"record": "User", "where": {"first_name": "Eval"}, "count": 1},
			roles=[role],
			answers=[{"call": self.create, "with": {"description": ""}}, {"say": "No."}],
		)
		self.assertEqual(self.faults(), [])
		self.assertEqual(frappe.session.user, "Administrator")
		self.assertFalse(frappe.db.exists("User", {"first_name": "Eval"}))

	def test_a_case_shows_a_manager_only_what_the_manager_may_read(self):
		secret = make("Note", title=unique("Minutes"), content="<p>4711</p>", public=0)
		get_note = make_tool("Get Document", unique("look").replace(" ", "_"), reference_doctype="Note")
		self.agent = make_agent(tools=(get_note,))
		call = {"call": get_note, "with": {"name": secret.name}}
		answers = [call, {"say": "x"}]
		record = {"record": "Note", "where": {"name": secret.name}, "values": {"title": "x"}}
		share = {"doctype": "DocShare", "share_doctype": "Note", "share_name": secret.name, "read": 1}
		manager = make_user("Huf Manager")
		self.case({"says": "x"}, roles=["System Manager"], answers=answers)
		self.case({"calls": get_note}, record, name="two", answers=answers)
		self.case({"says": "x"}, name="three", records=[{**share, "user": manager}], answers=answers)
		with acting_as(manager):
			results = self.run_cases().results
		self.assertEqual([each.passed for each in results], [0, 0, 0])
		self.assertNotIn("4711", str(results))
		self.assertIn("System Manager", results[0].faults[0])

	def test_a_case_reads_no_more_than_its_author_may_when_a_system_manager_runs_it(self):
		secret = make("Note", title=unique("Minutes"), content="<p>4711</p>", public=0)
		get_note = make_tool("Get Document", unique("look").replace(" ", "_"), reference_doctype="Note")
		self.agent = make_agent(tools=(get_note,))
		answers = [{"call": get_note, "with": {"name": secret.name}}, {"say": "x"}]
		record = {"record": "Note", "where": {"name": secret.name}, "values": {"content": "x"}}
		manager = make_user("Huf Manager")
		frappe.db.commit()
		with acting_as(manager):
			self.case({"says": "y"}, record, answers=answers)
			self.case({"says": "x"}, name="two", roles=["System Manager"], answers=answers)
		results = self.run_cases().results
		self.assertNotIn("4711", str(results))
		self.assertIn(f"roles that {manager} does not have", str(results[1]))
		frappe.db.set_value("User", manager, "enabled", 0)
		self.assertIn("Save the case again", self.faults()[0])

	def test_a_changed_max_iterations_limits_the_steps_of_the_eval(self):
		self.case({"calls": self.read}, answers=[{"call": self.read}, {"say": "Done."}])
		stopped, done = (
			self.run_cases(changes={"max_iterations": steps}).results[0].attempts[0].trace.status
			for steps in (1, 2)
		)
		self.assertEqual((stopped, done), ("Stopped", "Success"))

	def test_a_slow_regular_expression_of_a_check_is_stopped(self):
		self.case({"matches": "^(a|aa)+$"}, answers=[{"say": "a" * 60 + "!"}])
		self.assertIn("takes too long", self.faults()[0])

	def test_external_tools_return_results_of_the_case(self):
		answers = [{"call": "web_search", "with": {"query": "x"}}, {"say": "Sunny."}]
		self.case({"calls": "web_search"}, answers=answers, results={"web_search": [{"results": []}]})
		self.assertEqual(self.faults(), [])

	def test_calls_not_fails_for_an_external_call_that_the_eval_could_not_make(self):
		self.case(
			{"calls_not": "web_search"},
			answers=[{"call": "web_search", "with": {"query": "x"}}, {"say": "No."}],
		)
		self.assertEqual(self.faults(), ["web_search was called"])

	def test_fails_passes_for_a_refused_external_call_unless_only_the_eval_refused_it(self):
		faults = ["web_search was called, and the case has no result for it"]
		for arguments, results, expected in (
			({"query": "x"}, {}, faults),
			({"query": "x"}, {"web_search": []}, []),
			({}, {}, []),
		):
			with self.subTest(arguments=arguments, results=results):
				answers = [{"call": "web_search", "with": arguments}, {"say": "No."}]
				name = self.case({"fails": "web_search"}, results=results, answers=answers)
				self.assertEqual(self.faults(), expected)
				frappe.delete_doc("Agent Eval Case", name)

	def test_fails_does_not_pass_for_a_change_that_the_eval_cannot_roll_back(self):
		make_doctypes()
		tool = make_tool("Create Document", reference_doctype=TEAM)
		self.agent = make_agent(tools=(tool,))
		self.case({"fails": tool}, answers=[{"call": tool, "with": {"title": "New"}}, {"say": "Done."}])
		with controller(TEAM, on_update=lambda doc: frappe.db.commit()):
			self.assertEqual(self.faults(), [f"{tool} was called, and the case has no result for it"])

	def test_a_recorded_eval_skips_cases_without_recorded_answers(self):
		self.case({"says": "x"})
		report = self.run_cases()
		self.assertEqual((report.results[0].skipped, report.is_good), ("It has no answers on record.", False))

	def test_evaluating_an_agent_without_cases_is_refused(self):
		with self.assertRaisesRegex(UsageError, "has no cases"):
			self.run_cases()

	def test_a_case_with_an_invalid_definition_cannot_be_saved(self):
		with self.assertRaisesRegex(frappe.ValidationError, "expects nothing"):
			self.case()

	def test_cases_are_deleted_with_their_agent(self):
		name = self.case({"says": "x"})
		frappe.delete_doc("Agent", self.agent)
		self.assertFalse(frappe.db.exists("Agent Eval Case", name))


class TestModels(EvalTestCase):
	def test_live_model_calls_hold_no_transaction_and_see_stable_document_names(self):
		self.case(
			{"record": "ToDo", "where": {"description": self.description}, "values": {"status": "Closed"}}
		)
		writes, db = [], frappe.local.db
		with ModelServer() as server:
			model = make_model(server)
			frappe.db.commit()
			server.on_request = lambda body: writes.append(db.transaction_writes)
			server.script(
				tool_call(self.create, {"description": self.description}),
				lambda body: tool_call(
					self.update, {"name": read_created_name(body), "values": {"status": "Closed"}}
				),
				lambda body: text(f"Closed {read_created_name(body)}."),
			)
			before = self.count_rows_except_model_calls()
			report = self.run_cases(model)
		self.assertEqual(report.results[0].attempts[0].faults, ())
		self.assertEqual(self.count_rows_except_model_calls(), before)
		self.assertEqual(set(writes), {0})

	def test_child_rows_keep_their_names_between_calls_and_are_updated_by_name(self):
		make_doctypes()
		customer = make(CUSTOMER, title=unique("Customer")).name
		create = make_tool("Create Document", reference_doctype=ORDER)
		update = make_tool("Update Document", reference_doctype=ORDER)
		self.agent = make_agent(tools=(create, update))
		self.case({"calls": update, "times": 2})

		def change(body, index: int, **row):
			order = frappe.parse_json(body["messages"][-1]["content"])
			rows = [{"name": order["lines"][index]["name"], **row}, {"item": "Screw"}]
			return tool_call(update, {"name": order["name"], "values": {"lines": rows}})

		with ModelServer() as server:
			model = make_model(server)
			frappe.db.commit()
			server.script(
				tool_call(create, {"customer": customer, "lines": [{"item": "Bolt"}, {"item": "Nail"}]}),
				lambda body: change(body, 1, qty=3),
				lambda body: change(body, 0, qty=4),
				text("Done."),
			)
			report = self.run_cases(model)
		self.assertEqual(report.results[0].attempts[0].faults, ())

	def count_rows_except_model_calls(self) -> dict:
		"""Model calls stay recorded without their contents, because they count as cost."""
		return {**what_there_is(), "tabAgent LLM Call": 0}

	def test_the_judge_model_passes_or_fails_and_an_unclear_verdict_is_a_fault(self):
		self.case({"judge": "Is it polite?"}, answers=[{"say": "Go away."}])
		with ModelServer() as server:
			judge = make_model(server)
			frappe.db.commit()
			server.script(text("FAIL. It sends the person away."), text("PASS: it is."), text("Perhaps"))
			faults = [self.faults(judge=judge) for _ in range(3)]
			self.assertIn("Go away.", server.requests[0]["messages"][1]["content"])
		self.assertEqual(faults[0], ["Is it polite? No: It sends the person away."])
		self.assertEqual(faults[1], [])
		self.assertIn("neither PASS nor FAIL", faults[2][0])

	def test_the_judge_of_an_agent_that_masks_personal_data_reads_placeholders(self):
		frappe.get_doc("Agent", self.agent).update({"mask_personal_data": 1}).save()
		answer = {"say": "Wrote to anna@example.org."}
		self.case({"judge": "Is it polite?"}, prompt="Write to anna@example.org", answers=[answer])
		with ModelServer() as server:
			judge = make_model(server)
			frappe.db.commit()
			server.script(text("PASS"))
			self.assertEqual(self.faults(judge=judge), [])
		sent = server.requests[0]["messages"][1]["content"]
		self.assertIn("Wrote to [EMAIL-1].", sent)
		self.assertNotIn("anna@", sent)

	def test_a_judge_check_fails_without_a_judge_model(self):
		self.case({"judge": "Is it polite?"}, answers=[{"say": "Go away."}])
		self.assertIn("nobody can judge", self.faults()[0])

	def test_eval_model_calls_count_towards_budgets_and_respect_stops(self):
		self.case({"says": "yes"}, {"judge": "Is it polite?"})
		user = make_user("System Manager")
		with ModelServer() as server, acting_as(user):
			model = make_model(server)
			frappe.db.commit()
			server.script(text("Yes."), text("PASS"))
			self.assertEqual(self.faults(model=model, judge=model), [])
			spent = {"owner": user, "model": model, "call_type": "outside", "status": "Success"}
			self.assertEqual(frappe.db.count("Agent LLM Call", spent), 2)
			request_count = len(server.requests)
			with settings(user_daily_cost_limit=0.000001):
				self.assertIn("ended as Stopped", self.faults(model=model)[0])
			for scope, target in (("All", None), ("Agent", self.agent)):
				stop = add_stop(scope, target, "for the test")
				frappe.db.commit()
				self.assertIn("was stopped by", self.faults(model=model)[0])
				remove_stop(stop["name"])
				frappe.db.commit()
			self.assertEqual(len(server.requests), request_count)

	def test_passed_attempts_of_a_case_are_counted(self):
		self.case({"says": "yes"})
		with ModelServer() as server:
			model = make_model(server)
			frappe.db.commit()
			server.script(text("Yes."), text("No."), text("Yes."), text("Yes."))
			report = self.run_cases(model, times=4)
		self.assertEqual(report.results[0].passed, 3)
		self.assertEqual(report.pass_rates(), [0.75, 0.5, 0.25, 0.0])


def read_created_name(body: dict) -> str:
	"""The document name in the first tool result of a request."""
	result = next(each["content"] for each in body["messages"] if each["role"] == "tool")
	return frappe.parse_json(result)["name"]
