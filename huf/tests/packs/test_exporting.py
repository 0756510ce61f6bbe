"""Records of a site are exported as a pack that restores them elsewhere."""

import json

import frappe
import yaml

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.packs.exporting import export_pack, read_pack_contents
from huf.ai.packs.removing import drop_doctypes, remove_pack
from huf.api import pack
from huf.tests.factories import make, make_user, unique
from huf.tests.packs.samples import MANAGER, PackTestCase, what_there_is

EXPORTED_FIELDS = ("instructions", "temperature", "max_iterations", "description", "starters", "allow_chat")


class TestExporting(PackTestCase):
	def setUp(self):
		super().setUp()
		trigger = f"triggers:\n- {{trigger_name: Nightly {self.key}, agent: {self.agent}, trigger_type: Manual, prompt: Go}}\n"
		self.write(more=trigger)
		case = f"- {{case: one, agent: {self.agent}, prompt: Hello, answers: [{{say: Hi}}], expect: [{{says: hi}}]}}\n"
		self.put("evals.yaml", case)
		self.install()

	def snapshot(self) -> dict:
		agent = frappe.get_doc("Agent", self.agent)
		doctype, plants = (
			frappe.get_meta(self.plant),
			frappe.get_all(self.plant, ["name", "height"], order_by="name asc"),
		)
		return {
			"agent": [agent.get(field) for field in EXPORTED_FIELDS],
			"tools": [row.tool for row in agent.agent_tool],
			"fields": [(df.fieldname, df.fieldtype, df.reqd) for df in doctype.fields],
			"rules": sorted((p.role, p.read, p.write) for p in doctype.permissions),
			"plants": plants,
			"triggers": frappe.get_all(
				"Agent Trigger", {"agent": self.agent}, ["name", "prompt"], order_by="name asc"
			),
			"cases": frappe.get_all(
				"Agent Eval Case", {"agent": self.agent}, ["name", "definition"], order_by="name asc"
			),
			"tool": frappe.db.get_value("Agent Tool Function", f"list_{self.key}", ["types", "description"]),
		}

	def test_an_exported_pack_restores_the_same_records(self):
		make(
			"Agent Route Rule",
			rule_name=f"Mail {self.key}",
			route="agent",
			profile=self.agent,
			sender_domain="x.example",
		)
		frappe.db.set_value(self.plant, f"Rose {self.key}", "height", 12)
		frappe.db.commit()
		before = self.snapshot()
		files = export_pack(self.name, *read_pack_contents(self.name), with_records=True)
		self.assertEqual(yaml.safe_load(files["pack.yaml"])["roles"], [self.role])
		frappe.delete_doc("Agent Route Rule", f"Mail {self.key}")
		remove_pack(self.name, with_records=True)
		self.install_files(files)
		self.assertEqual(self.snapshot(), before)
		self.assertEqual(frappe.db.get_value("Agent Route Rule", f"Mail {self.key}", "profile"), self.agent)

	def test_agents_that_call_each_other_are_installed_and_removed(self):
		pair, tools = [f"{word} {self.key}" for word in ("Sales", "Stock")], [f"{n}_{self.key}" for n in "ab"]
		for agent, instructions in zip(pair, ("Sell.", "Store."), strict=True):
			make("Agent", agent_name=agent, instructions=instructions)
		for tool, agent, other in zip(tools, pair, reversed(pair), strict=True):
			make("Agent Tool Function", tool_name=tool, types="Run Agent", agent=agent, description="Ask it")
			frappe.get_doc("Agent", other).update({"agent_tool": [{"tool": tool}]}).save()
		values = {"trigger_type": "Manual", "notify_user": make_user("Huf User"), "notify_on": "Result"}
		make("Agent Trigger", trigger_name=f"Press {self.key}", agent=pair[0], prompt="Go", **values)
		files = export_pack(f"pair_{self.key}", agents=pair)
		self.assertNotIn(values["notify_user"], str(files))
		before = what_there_is()
		for doctype, names in (
			("Agent Trigger", [f"Press {self.key}"]),
			("Agent", pair),
			("Agent Tool Function", tools),
		):
			for name in names:
				frappe.delete_doc(doctype, name, force=True)
		without = what_there_is()
		self.install_files(files)
		self.assertEqual(frappe.get_doc("Agent", pair[0]).agent_tool[0].tool, tools[1])
		self.assertEqual(frappe.db.get_value("Agent Tool Function", tools[1], "agent"), pair[1])
		remove_pack(f"pair_{self.key}")
		self.assertEqual(what_there_is(), without)
		self.assertGreater(before["tabAgent"], without["tabAgent"])

	def test_an_agent_is_exported_with_the_agents_that_it_calls(self):
		names = [self.agent]
		for place in ("Middle", "Top"):
			values = {
				"tool_name": f"ask_{place.lower()}_{self.key}",
				"agent": names[-1],
				"description": "Ask",
			}
			tool = make("Agent Tool Function", types="Run Agent", **values).name
			values = {"agent_name": f"{place} {self.key}", "instructions": "Ask."}
			names.append(make("Agent", agent_tool=[{"tool": tool}], **values).name)
		files = export_pack("mine", agents=names[-1:])
		agents = yaml.safe_load(files["pack.yaml"])["agents"]
		self.assertEqual({each["agent_name"] for each in agents}, set(names))
		self.assertIn("evals.yaml", files)

	def test_a_system_manager_exports_agents_without_the_cases_that_only_huf_managers_read(self):
		with acting_as(make_user("System Manager")):
			files = export_pack("mine", agents=[self.agent])
		self.assertIn("pack.yaml", files)
		self.assertNotIn("evals.yaml", files)

	def test_triggers_that_lose_their_user_or_secret_are_exported_turned_off(self):
		agent = make("Agent", agent_name=f"Clerk {self.key}", instructions="Work.").name
		for values in (
			{"trigger_type": "Schedule", "cron": "0 8 * * *", "prompt": "Go"},
			{"trigger_type": "Webhook", "webhook_secret": "s" * 16},
			{"trigger_type": "Doc Event", "reference_doctype": "ToDo", "doc_event": "on_update"},
		):
			name = f"{values['trigger_type']} {self.key}"
			make("Agent Trigger", trigger_name=name, agent=agent, run_as="Administrator", **values)
		names = frappe.get_all("Agent Trigger", {"agent": agent}, pluck="name", order_by="name asc")
		files = export_pack(f"clerk_{self.key}", agents=[agent])
		for doctype, name in (*(("Agent Trigger", each) for each in names), ("Agent", agent)):
			frappe.delete_doc(doctype, name)
		frappe.db.commit()
		self.install_files(files)
		self.addCleanup(remove_pack, f"clerk_{self.key}")
		for name in names:
			trigger = frappe.get_doc("Agent Trigger", name)
			self.assertEqual((trigger.disabled, trigger.run_as), (1, None))
			if trigger.trigger_type != "Doc Event":
				trigger.disabled = 0
				self.assertRaises(frappe.ValidationError, trigger.save)

	def test_an_update_turns_off_no_trigger_that_earlier_exports_left_on(self):
		name = f"Nightly {self.key}"
		frappe.db.set_value("Agent Trigger", name, "run_as", "Administrator")
		report = self.install_files(export_pack(self.name, agents=[self.agent]))
		self.assertEqual(frappe.db.get_value("Agent Trigger", name, "disabled"), 0)
		self.assertTrue([line for line in report.kept if name in line and "disabled" in line])

	def test_an_installed_pack_is_exported_with_its_title_version_and_description(self):
		about = {"title": "Our Garden", "version": "2.3", "description": "For all."}
		frappe.db.set_value("Agent Pack", self.name, dict(about))
		manifest = yaml.safe_load(pack.export(self.name)["pack.yaml"])
		self.assertEqual(about.items() & manifest.items(), about.items())

	def test_each_agent_has_its_own_file_of_instructions(self):
		names = [f"Sales {self.key}", f"sales-{self.key}", f"sales/{self.key}"]
		for name in names:
			make("Agent", agent_name=name, instructions=f"You are {name}.")
		files = export_pack("mine", agents=names)
		agents = yaml.safe_load(files["pack.yaml"])["agents"]
		self.assertEqual(
			[files[each["instructions_file"]] for each in agents], [f"You are {name}." for name in names]
		)

	def test_amounts_that_are_not_set_are_not_exported(self):
		manifest = export_pack("copy", [self.agent])["pack.yaml"]
		self.assertNotRegex(manifest, r": 0\.0$|run_cost_limit")
		frappe.db.set_value("Agent", self.agent, "run_cost_limit", 0.5)
		frappe.clear_document_cache("Agent", self.agent)
		self.assertIn("run_cost_limit: 0.5", export_pack("copy", [self.agent])["pack.yaml"])

	def test_tools_of_an_agent_are_exported_by_name_without_a_copy_of_their_description(self):
		(agent,) = yaml.safe_load(export_pack("copy", [self.agent])["pack.yaml"])["agents"]
		self.assertEqual(agent["tools"], [f"list_{self.key}", "extract_text"])

	def test_a_model_is_exported_without_the_name_of_its_provider(self):
		provider = make("AI Provider", provide_name=unique("Cloud"), api_key="sk-1234567890").name
		model = make("AI Model", model_name=unique("model"), provider=provider).name
		make("Agent", agent_name=f"Sales {self.key}", instructions="Sell.", model=model)
		files = export_pack("mine", agents=[f"Sales {self.key}"])
		self.assertIn(model, files["pack.yaml"])
		self.assertNotIn(provider, files["pack.yaml"])

	def test_the_model_of_a_tool_is_made_where_the_pack_is_installed(self):
		model = make("AI Model", model_name=unique("openai/whisper"), provider=self.make_provider()).name
		values = {"types": "Speech to Text", "model": model, "description": "Hear"}
		tool = make("Agent Tool Function", tool_name=f"hear_{self.key}", **values).name
		values = {"instructions": "Listen.", "agent_tool": [{"tool": tool}]}
		agent = make("Agent", agent_name=f"Listener {self.key}", **values).name
		files = export_pack(f"hear_{self.key}", agents=[agent])
		for doctype, name in (("Agent", agent), ("Agent Tool Function", tool), ("AI Model", model)):
			frappe.delete_doc(doctype, name)
		frappe.db.commit()
		self.install_files(files)
		self.assertEqual(frappe.db.get_value("Agent Tool Function", tool, "model"), model)
		remove_pack(f"hear_{self.key}")
		self.assertFalse(frappe.db.exists("AI Model", model))

	def make_provider(self) -> str:
		return make("AI Provider", provide_name=unique("Cloud"), api_key="sk-1234567890").name

	def test_values_above_the_permission_level_of_the_user_are_not_exported(self):
		fields = [
			{"fieldname": "title", "fieldtype": "Data", "label": "Title", "unique": 1},
			{"fieldname": "pay", "fieldtype": "Data", "label": "Pay", "permlevel": 1, "default": "none"},
		]
		values = {"module": "Huf", "custom": 1, "autoname": "field:title", "permissions": [MANAGER]}
		doctype = make("DocType", name=f"Salary {self.key}", fields=fields, **values).name
		make(doctype, title="Anna", pay="5,000")
		with acting_as(make_user("System Manager", "Huf Manager")):
			records = export_pack("mine", doctypes=[doctype], with_records=True)["records.json"]
		self.assertEqual(json.loads(records), [{"doctype": doctype, "title": "Anna"}])
		drop_doctypes([doctype])

	def test_linked_doctypes_and_records_come_before_those_that_need_them(self):
		garden, visit = f"Garden {self.key}", f"Visit {self.key}"
		link = {"fieldname": "above", "fieldtype": "Link", "label": "Above", "options": garden}
		state = {"fieldname": "state", "fieldtype": "Data", "label": "State", "default": "Open"}
		title = {"fieldname": "title", "fieldtype": "Data", "label": "Title", "unique": 1}
		values = {"module": "Huf", "custom": 1, "autoname": "field:title", "permissions": [MANAGER]}
		make("DocType", name=garden, fields=[title, link, state], **values)
		make("DocType", name=visit, fields=[title, link], **values)
		make(garden, title=f"Z {self.key}", state="")
		make(garden, title=f"A {self.key}", above=f"Z {self.key}")
		make(visit, title=f"First {self.key}", above=f"A {self.key}")
		files = export_pack(f"visits_{self.key}", doctypes=[visit], with_records=True)
		self.assertEqual([each["name"] for each in json.loads(files["doctypes.json"])], [garden, visit])
		drop_doctypes([visit, garden])
		self.install_files(files)
		rows = frappe.get_all(garden, fields=["name", "above", "state"], order_by="name asc")
		self.assertEqual(
			[tuple(row.values()) for row in rows],
			[(f"A {self.key}", f"Z {self.key}", "Open"), (f"Z {self.key}", None, "")],
		)
		remove_pack(f"visits_{self.key}")

	def test_doctypes_and_records_that_link_to_each_other_are_installed_and_their_series_goes_on(self):
		garden, visit = f"Garden {self.key}", f"Visit {self.key}"
		values = {"module": "Huf", "custom": 1, "permissions": [MANAGER], "autoname": f"V-{self.key}-.####"}
		link = {"fieldname": "garden", "fieldtype": "Link", "label": "Garden", "options": garden}
		title = {"fieldname": "title", "fieldtype": "Data", "label": "Title"}
		make("DocType", name=garden, fields=[title], **{**values, "autoname": "hash"})
		make("DocType", name=visit, fields=[title, link], **values)
		back = {"fieldname": "last_visit", "fieldtype": "Link", "label": "Last Visit", "options": visit}
		doc = frappe.get_doc("DocType", garden)
		doc.append("fields", back)
		doc.save()
		made = make(garden, title="Rose")
		made.update({"last_visit": make(visit, title="First", garden=made.name).name}).save()
		files = export_pack(f"visits_{self.key}", doctypes=[visit], with_records=True)
		drop_doctypes([visit, garden])
		frappe.db.delete("Series", {"name": f"V-{self.key}-"})
		self.install_files(files)
		self.assertEqual(frappe.db.get_value(garden, made.name, "last_visit"), f"V-{self.key}-0001")
		self.assertEqual(frappe.db.get_value(visit, f"V-{self.key}-0001", "garden"), made.name)
		self.assertEqual(make(visit, title="Second").name, f"V-{self.key}-0002")
		missing = files["records.json"].replace(made.name, "no-such-garden", 1)
		remove_pack(f"visits_{self.key}", with_records=True)
		self.assertFalse(frappe.db.exists("DocType", garden))
		with self.assertRaisesRegex(UsageError, "no-such-garden|" + made.name):
			self.install_files({**files, "records.json": missing})
		missing = files["doctypes.json"].replace(f'"options": "{visit}"', '"options": "No Such DocType"')
		with self.assertRaisesRegex(UsageError, "(?i)last.visit|No Such DocType"):
			self.install_files({**files, "doctypes.json": missing})

	def test_submitted_records_stay_submitted_and_cancelled_ones_are_not_exported(self):
		title = {"fieldname": "title", "fieldtype": "Data", "label": "Title", "unique": 1}
		bill = f"Bill {self.key}"
		rules = {**MANAGER, "submit": 1, "cancel": 1, "amend": 1}
		values = {"module": "Huf", "custom": 1, "autoname": "field:title", "is_submittable": 1}
		make("DocType", name=bill, fields=[title], permissions=[rules], **values)
		visit, link = f"Visit {self.key}", {"fieldname": "bill", "fieldtype": "Link", "options": bill}
		plain = {**values, "is_submittable": 0}
		make("DocType", name=visit, fields=[title, {**link, "label": "Bill"}], permissions=[MANAGER], **plain)
		submitted, cancelled = f"Submitted {self.key}", f"Cancelled {self.key}"
		make(bill, title=submitted).submit()
		make(bill, title=cancelled).submit().cancel()
		amendment = make(bill, title=f"New {self.key}", amended_from=cancelled).name
		make(visit, title="first", bill=cancelled)
		files = export_pack(f"bills_{self.key}", doctypes=[visit], with_records=True)
		frappe.get_doc(bill, submitted).cancel()
		drop_doctypes([visit, bill])
		self.install_files(files)
		rows = frappe.get_all(bill, fields=["name", "docstatus", "amended_from"], order_by="name asc")
		self.assertEqual([tuple(row.values()) for row in rows], [(amendment, 0, None), (submitted, 1, None)])
		self.assertIsNone(frappe.db.get_value(visit, "first", "bill"))
		names = [field.fieldname for field in frappe.get_doc("DocType", bill).fields]
		self.assertEqual(names.count("amended_from"), 1)
		remove_pack(f"bills_{self.key}")

	def test_misspelt_field_of_a_row_is_refused(self):
		files = export_pack(self.name, *read_pack_contents(self.name))
		tool = f"- list_{self.key}\n"
		self.assertIn(tool, files["pack.yaml"])
		misspelt = files["pack.yaml"].replace(tool, f"- {{tool: list_{self.key}, require_approval: 1}}\n")
		remove_pack(self.name, with_records=True)
		with self.assertRaisesRegex(UsageError, "Agent Tool has no field 'require_approval'"):
			self.install_files({**files, "pack.yaml": misspelt})

	def test_two_records_that_get_the_same_name_are_refused_in_a_readable_sentence(self):
		samples = [
			{"doctype": self.plant, "plant_name": "Iris"},
			{"doctype": self.plant, "plant_name": " Iris"},
		]
		self.put("records.json", json.dumps(samples))
		with self.assertRaisesRegex(UsageError, rf"document 2 .{self.plant}.: Iris .* exists already"):
			self.install()

	def test_child_table_doctypes_are_exported_with_their_parent(self):
		leaf, fields = f"Leaf {self.key}", [{"fieldname": "size", "fieldtype": "Int", "label": "Size"}]
		make("DocType", name=leaf, module="Huf", custom=1, istable=1, fields=fields)
		plant = frappe.get_doc("DocType", self.plant)
		plant.append(
			"fields", {"fieldname": "leaves", "fieldtype": "Table", "label": "Leaves", "options": leaf}
		)
		plant.save()
		files = export_pack("mine", agents=[self.agent])
		self.assertEqual([each["name"] for each in json.loads(files["doctypes.json"])], [leaf, self.plant])
		plant.fields.pop()
		plant.save()
		frappe.delete_doc("DocType", leaf)
		frappe.db.commit()

	def test_an_export_contains_only_selected_agents_and_their_doctypes(self):
		files = export_pack("mine", agents=[self.agent])
		self.assertEqual(
			set(files), {"pack.yaml", f"prompts/{frappe.scrub(self.agent)}.md", "doctypes.json", "evals.yaml"}
		)
		self.assertEqual([each["name"] for each in json.loads(files["doctypes.json"])], [self.plant])

	def test_app_doctypes_unknown_agents_and_invalid_names_are_refused(self):
		for values, message in (
			({"doctypes": ["ToDo"]}, "belongs to an app"),
			({"agents": ["Nobody at all"]}, "There is no Agent"),
		):
			with self.assertRaisesRegex(UsageError, message):
				export_pack("mine", **values)
		with self.assertRaisesRegex(UsageError, "cannot be a pack's name. Use up to 40"):
			export_pack("../mine")

	def test_a_pack_uses_doctypes_that_the_site_has_with_the_same_fields(self):
		agent = make("Agent", agent_name=f"Watcher {self.key}", instructions="Watch.").name
		watch = {"trigger_type": "Doc Event", "reference_doctype": self.plant, "doc_event": "on_update"}
		values = {"agent": agent, "prompt": "Go", "run_as": make_user("Huf User")}
		trigger = make("Agent Trigger", trigger_name=f"Watch {self.key}", **watch, **values).name
		files = export_pack(f"watch_{self.key}", agents=[agent])
		for doctype, name in (("Agent Trigger", trigger), ("Agent", agent)):
			frappe.delete_doc(doctype, name)
		frappe.db.commit()
		self.install_files(files)
		self.assertEqual(frappe.db.get_value("Agent Trigger", trigger, "reference_doctype"), self.plant)
		remove_pack(f"watch_{self.key}")
		self.assertTrue(frappe.db.exists("DocType", self.plant))
		other = files["doctypes.json"].replace('"height"', '"width"')
		self.assertNotEqual(other, files["doctypes.json"])
		with self.assertRaisesRegex(UsageError, "does not have its fields"):
			self.install_files({**files, "doctypes.json": other})

	def test_managers_export_triggers_without_the_doctypes_that_they_may_not_read(self):
		agent = make("Agent", agent_name=f"Watcher {self.key}", instructions="Watch.").name
		watch = {"trigger_type": "Doc Event", "reference_doctype": self.plant, "doc_event": "on_update"}
		values = {"agent": agent, "prompt": "Go", "run_as": make_user("Huf User")}
		trigger = make("Agent Trigger", trigger_name=f"Watch {self.key}", **watch, **values).name
		self.assertIn("doctypes.json", export_pack("mine", agents=[agent]))
		with acting_as(make_user("Huf Manager")):
			files = export_pack("mine", agents=[agent])
		self.assertIn(f"reference_doctype: {self.plant}", files["pack.yaml"])
		self.assertNotIn("doctypes.json", files)
		frappe.delete_doc("Agent Trigger", trigger)
		frappe.db.commit()

	def test_exporting_a_doctype_needs_permission(self):
		with acting_as(make_user("Huf User")), self.assertRaises(frappe.PermissionError):
			export_pack("mine", doctypes=[self.plant])
