"""Packs are installed, updated and removed without duplicates, losses or leftovers."""

import json
import shutil
import tempfile
from pathlib import Path

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.packs.install import install_pack
from huf.ai.packs.removing import remove_pack
from huf.ai.packs.shipped import PackSource
from huf.ai.queries.audit import read_audit
from huf.ai.storage.untrusted_records import mark_record
from huf.tests.factories import make, make_user
from huf.tests.packs.samples import PackTestCase, what_there_is


class TestInstalling(PackTestCase):
	def test_installing_creates_agents_tools_roles_and_records(self):
		report = self.install()
		agent = frappe.get_doc("Agent", self.agent)
		self.assertEqual((agent.instructions, agent.temperature), ("Water them.", 0.2))
		self.assertEqual([row.tool for row in agent.agent_tool], [f"list_{self.key}", "extract_text"])
		self.assertTrue(frappe.db.exists(self.plant, f"Rose {self.key}"))
		self.assertTrue(frappe.db.exists("Role", self.role))
		self.assertIn(f"Agent {self.agent}", report.made)

	def test_only_permissions_listed_in_the_pack_are_granted(self):
		self.install()
		(rule,) = (each for each in frappe.get_meta(self.plant).permissions if each.role == self.role)
		granted = {
			right for right in ("read", "write", "create", "delete", "share", "export") if rule.get(right)
		}
		self.assertEqual(granted, {"read"})

	def test_the_audit_log_names_who_installed_and_removed_a_pack(self):
		user, since = make_user("Huf Manager"), add_to_date(now_datetime(), seconds=-1, as_datetime=True)
		frappe.set_user(user)
		self.install()
		made = read_audit(since, None, is_system_manager=False)
		remove_pack(self.name)
		gone = read_audit(since, None, is_system_manager=False)
		frappe.set_user("Administrator")
		for entries, action in ((made, "create"), (gone, "delete")):
			found = [(each["action"], each["user"]) for each in entries if each.get("name") == self.name]
			self.assertEqual(found, [(action, user)])

	def test_installing_twice_changes_nothing(self):
		self.install()
		before, modified = what_there_is(), frappe.db.get_value("Agent", self.agent, "modified")
		report = self.install()
		self.assertEqual((report.made, report.changed, report.removed), ([], [], []))
		self.assertEqual(what_there_is(), before)
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "modified"), modified)

	def test_another_folder_with_the_packs_name_is_its_update_only_if_that_is_said(self):
		self.install()
		elsewhere = Path(tempfile.mkdtemp(prefix="huf-test-"))
		self.addCleanup(shutil.rmtree, elsewhere)
		(elsewhere / "pack.yaml").write_text(f'pack: {self.name}\ntitle: Other\nversion: "1"\n')
		with self.assertRaisesRegex(UsageError, f"imported from .*{self.folder.name}"):
			install_pack(PackSource(elsewhere))
		frappe.db.rollback()
		self.assertTrue(frappe.db.exists("Agent", self.agent))
		self.assertEqual(frappe.db.get_value("Agent Pack", self.name, "title"), "Test")
		report = install_pack(PackSource(elsewhere), has_moved=True)
		self.assertIn(f"Agent {self.agent}", report.removed)
		with self.assertRaisesRegex(UsageError, f"imported from .*{elsewhere.name}"):
			self.install()

	def test_a_doctype_that_is_virtual_or_open_to_guests_is_refused(self):
		before = what_there_is()
		(doctype,) = json.loads((self.folder / "doctypes.json").read_text())
		for values, told in (
			({"is_virtual": 1}, "document 1: a virtual DocType needs an app's code"),
			({"permissions": [{"role": "guest", "read": 1}]}, "document 1: it grants rights to Guest"),
		):
			self.put("doctypes.json", json.dumps([{**doctype, **values}]))
			with self.assertRaisesRegex(UsageError, told):
				self.install()
			frappe.db.rollback()
			self.assertEqual(what_there_is(), before)

	def test_existing_records_are_kept_on_installation_and_removal(self):
		make("Agent", agent_name=self.agent, instructions="Mine.")
		report = self.install()
		self.assertIn(f"Agent {self.agent}: it was there before.", report.left)
		remove_pack(self.name)
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "instructions"), "Mine.")
		frappe.delete_doc("Agent", self.agent)
		frappe.db.commit()

	def test_a_failed_installation_leaves_nothing(self):
		before = what_there_is()
		self.put("records.json", f'[{{"doctype": "{self.plant}", "height": 1}}]')
		with self.assertRaisesRegex(UsageError, "records.json: document 1"):
			self.install()
		self.assertEqual(what_there_is(), before)

	def test_installing_over_an_existing_doctype_is_refused(self):
		self.put("doctypes.json", '[{"doctype": "DocType", "name": "ToDo", "custom": 1, "fields": []}]')
		self.put("records.json", "[]")
		with self.assertRaisesRegex(UsageError, "there is a DocType ToDo already"):
			self.install()
		self.assertTrue(frappe.db.exists("DocType", "ToDo"))

	def test_a_schedule_without_a_user_is_installed_turned_off(self):
		nightly, by_hand = f"Nightly {self.key}", f"By hand {self.key}"
		self.write(
			more=f"""triggers:
  - {{trigger_name: {nightly}, agent: {self.agent}, trigger_type: Schedule, cron: 0 7 * * *, prompt: Water}}
  - {{trigger_name: {by_hand}, agent: {self.agent}, trigger_type: Manual, prompt: Water, disabled: 1}}
"""
		)
		report = self.install()
		self.assertEqual(frappe.db.get_value("Agent Trigger", nightly, "disabled"), 1)
		self.assertIn(f"Agent Trigger {nightly}, turned off until you choose its Run As", report.made)
		self.assertIn(f"Agent Trigger {by_hand}", report.made)
		self.assertEqual(self.install().changed, [])

	def test_packs_outside_an_app_cannot_contain_code(self):
		self.put("tools.py", "raise SystemExit")
		with self.assertRaisesRegex(UsageError, "which only a pack of an app may"):
			self.install()


class TestFaults(PackTestCase):
	def test_a_missing_tool_is_named_with_its_agent_and_what_to_do(self):
		manifest = (self.folder / "pack.yaml").read_text()
		self.put("pack.yaml", manifest.replace(", extract_text]", ", of_an_app]"))
		advice = f"no tool 'of_an_app' for the agent {self.agent}. .* install the app that has it in its code"
		with self.assertRaisesRegex(UsageError, advice):
			self.install()

	def test_yaml_errors_are_reported_with_file_and_line(self):
		faults = {
			"  color: red": "pack.yaml: Line 16: Agent Tool Function has no field 'color'",
			"colour: red": "pack.yaml: Line 16: 'colour' is not known in a pack",
			"title: Again": "pack.yaml: Line 16: title appears twice",
			"mail: no.yaml": "^no.yaml cannot be read: No such file or directory.$",
			"mail: ../../secret": "is not in the pack's folder",
			"triggers: [3]": "pack.yaml: Line 16: triggers must be a list of mappings",
			"x: [": "pack.yaml: Line 17: this is not YAML",
		}
		for line, message in faults.items():
			with self.subTest(line):
				indent = "  " if line.startswith("  ") else ""
				self.write(more=f"{indent}{line}\n")
				with self.assertRaisesRegex(UsageError, message):
					self.install()
				self.assertFalse(frappe.db.exists("Agent Pack", self.name))

	def test_values_of_the_wrong_type_are_refused(self):
		for before, after, message in (
			(
				"tools: [list",
				"tools: [{requires_approval: 1}, list",
				"Line 10: tools must be a list of names",
			),
			("tools: [list", "tools: 5  #", "Line 10: tools must be a list of names"),
			("tools: [list", "chat_models: [x]\n    tools: [list", "Line 10: chat_models must be a list of"),
			("prompt.md", "[x]", "Line 8: instructions_file must be text"),
			("tool_name: list", "tool_name: [a]  #", "Line 12: tool_name must be text"),
			("types: Get List", "types: [a]", "Line 13: types must be text or a number"),
			("agent_name: ", "agent_name: New Agent ", "Line 7 .Agent.: "),
			(
				"tools: [list",
				"roles: [Huf User]\n    tools: [list",
				"Line 7: roles must be a list of mappings",
			),
			("types: ", 'requires_approval: "yes"\n    types: ', "requires_approval must be true or false"),
		):
			with self.subTest(after):
				self.write()
				self.put("pack.yaml", (self.folder / "pack.yaml").read_text().replace(before, after))
				with self.assertRaisesRegex(UsageError, message):
					self.install()
		self.write()
		(doctype,) = json.loads((self.folder / "doctypes.json").read_text())
		for key in ("fields", "permissions"):
			self.put("doctypes.json", json.dumps([{**doctype, key: ["x"]}]))
			with self.assertRaisesRegex(UsageError, f"document 1: {key} must be a list of objects"):
				self.install()

	def test_json_errors_are_reported_with_file_and_position(self):
		for text, message in {
			"[\n{,\n]": "records.json: Line 2: this is not JSON",
			"[{}]": "records.json: document 1: a document needs its doctype",
			'[{"doctype": "ToDo", "colour": 1}]': "document 1: ToDo has no field 'colour'",
			'[{"doctype": "No Such Type"}]': "document 1: there is no DocType No Such Type.",
			'[{"doctype": "ai provider"}]': "document 1: there is no DocType ai provider.",
			'[{"doctype": "User", "email": "x@example.com"}]': "only System Managers create records of User",
			'[{"doctype": "File", "file_name": "x.html"}]': "records of File may run code",
			'[{"doctype": "AI Provider", "provide_name": "x", "api_base": "http://x"}]': "Leave api_base out",
			'[{"doctype": "Agent Memory", "scope": "Role", "role": "Huf User"}]': "Name an agent",
			'[{"doctype": "Agent Mailbox", "run_as": "Administrator"}]': "Administrator is a System Manager",
			'[{"doctype": "AI Provider", "provide_name": "x", "api_key": "x"}]': "api_key is a secret",
			'[{"doctype": "Agent Tool Function", "headers": [{"value": "x"}]}]': "value is a secret",
			'[{"doctype": "MCP Grant", "user": "Administrator"}]': "create records of MCP Grant",
			'[{"doctype": "ToDo", "description": "x", "name": 5}]': "document 1: its name must be text",
			'[{"doctype": "ToDo", "description": ["x"]}]': "document 1: description must be text or a number",
			'[{"doctype": "ToDo", "description": "x", "date": "never"}]': "document 1 .ToDo.: .*ncorrect date",
			'[{"doctype": "Huf Settings", "max_steps": 3}]': "document 1: Huf Settings are settings of the site",
			'[{"doctype": "Agent", "agent_name": "x", "agent_tool": "x"}]': "document 1: agent_tool must be a list",
			"[" * 200 + "]" * 200: "records.json: this cannot be read: it is nested more than 100",
		}.items():
			with self.subTest(text):
				self.put("records.json", text)
				with self.assertRaisesRegex(UsageError, message):
					self.install()

	def test_definitions_of_a_folder_bring_no_scripts_and_no_html(self):
		(doctype,) = json.loads((self.folder / "doctypes.json").read_text())
		for key, text in {
			"depends_on": "eval:frappe.csrf_token",
			"mandatory_depends_on": " EVAL: doc.height",
			"description": "<img src=x onerror=alert(1)>",
			"label": "<svg/onload=alert(1)>",
			"options": "<script>alert(1)</script>",
		}.items():
			with self.subTest(key):
				height = {"fieldname": "height", "fieldtype": "HTML", "label": "Height", key: text}
				self.put("doctypes.json", json.dumps([{**doctype, "fields": [*doctype["fields"], height]}]))
				with self.assertRaisesRegex(UsageError, "would run in the browser"):
					self.install()
		actions = [{"label": "Go", "action_type": "Server Action", "action": "frappe.client.delete"}]
		self.put("doctypes.json", json.dumps([{**doctype, "actions": actions}]))
		with self.assertRaisesRegex(UsageError, "Leave actions out"):
			self.install()

	def test_triggers_of_a_folder_do_not_act_as_a_system_manager(self):
		values = f"trigger_name: Water {self.key}, agent: {self.agent}, trigger_type: Schedule"
		values += ", scheduled_interval: Daily, run_as: Administrator"
		self.write(more=f"triggers:\n  - {{{values}}}\n")
		with self.assertRaisesRegex(
			UsageError, "Line 17: Administrator is a System Manager. Leave run_as out"
		):
			self.install()

	def test_a_folders_trigger_that_would_act_as_anybody_is_turned_off(self):
		def write(more):
			values = f"trigger_name: Water {self.key}, agent: {self.agent}, {more}"
			self.write(more=f"triggers:\n  - {{{values}}}\n")

		def is_off():
			return frappe.db.get_value("Agent Trigger", f"Water {self.key}", "disabled")

		note = f"Agent Trigger Water {self.key}, turned off until you choose its Run As"
		document = "trigger_type: Doc Event, reference_doctype: ToDo, doc_event: after_insert"
		make_user("Huf User")
		for values in (document, "trigger_type: App Event, event_name: order_paid"):
			with self.subTest(values):
				write(values)
				self.assertIn(note, self.install().made)
				self.assertEqual(is_off(), 1)
				self.clear()
		write("trigger_type: Manual, prompt: Water")
		self.install()
		self.assertEqual(is_off(), 0)
		write(document)
		self.assertIn(note, self.install().changed)
		self.assertEqual(is_off(), 1)
		# Somebody agrees.
		frappe.get_doc("Agent Trigger", f"Water {self.key}").update({"disabled": 0}).save()
		write(f"{document}, prompt: Water twice")
		self.install()
		self.assertEqual(is_off(), 0)

	def test_the_installing_user_is_the_author_of_the_triggers(self):
		values = f"trigger_name: Water {self.key}, agent: {self.agent}, trigger_type: Doc Event"
		values += ", reference_doctype: ToDo, doc_event: after_insert"
		self.write(more=f"triggers:\n  - {{{values}}}\n")
		manager = make_user("Huf Manager")
		frappe.db.commit()
		with acting_as(manager):
			self.install()
		self.assertEqual(frappe.db.get_value("Agent Trigger", f"Water {self.key}", "modified_by"), manager)
		self.install()
		self.assertEqual(frappe.db.get_value("Agent Trigger", f"Water {self.key}", "modified_by"), manager)


class TestRemoving(PackTestCase):
	def test_removing_a_pack_leaves_nothing(self):
		before = what_there_is()
		self.install()
		self.write("2.0", "Water them twice.", ("height", "weight"), ("Fern",))
		self.install()
		self.assertIn(f"DocType {self.plant}", remove_pack(self.name).removed)
		self.assertEqual(what_there_is(), before)

	def test_updates_and_removal_keep_settings_that_the_pack_once_contained(self):
		self.install()
		single = "Huf Settings"
		before = set(frappe.db.get_singles_dict(single))
		for act in (lambda: self.install().kept, lambda: remove_pack(self.name).left):
			doc = frappe.get_doc("Agent Pack", self.name)
			doc.append("records", {"record_doctype": single, "record_name": single, "entry": "x", "made": 1})
			doc.save()
			frappe.db.commit()
			self.assertTrue([line for line in act() if single in line and "was changed here" in line])
		self.assertEqual(set(frappe.db.get_singles_dict(single)), before)

	def test_removal_deletes_a_model_that_an_update_brought_after_its_agent(self):
		before = what_there_is()
		self.install()
		text = (self.folder / "pack.yaml").read_text()
		self.put("pack.yaml", text.replace("temperature: 0.2", f"model: openai/gpt-{self.key}"))
		self.install()
		self.assertTrue(frappe.db.exists("AI Model", f"openai/gpt-{self.key}"))
		remove_pack(self.name)
		self.assertEqual(what_there_is(), before)

	def test_pack_that_an_mcp_server_offers_stays_whole_until_it_no_longer_does(self):
		self.install()
		for offer in (("Agent Pack", self.name), ("DocType", self.plant)):
			with self.subTest(offer=offer):
				offers = [dict(zip(("offer_type", "offer"), offer, strict=True))]
				server = make("MCP Server", server_name=f"Shop {self.key}", slug=self.key, offers=offers)
				frappe.db.commit()
				with self.assertRaisesRegex(UsageError, f"MCP Server {server.name}. Change or delete"):
					remove_pack(self.name)
				self.assertTrue(frappe.db.exists(self.plant, f"Rose {self.key}"))
				server.delete()
		rule = {"user": make_user("Huf User"), "allow": "Role", "for_value": self.role}
		make("User Permission", applicable_for=self.plant, apply_to_all_doctypes=0, **rule)
		remove_pack(self.name)
		self.assertFalse(frappe.db.exists("DocType", self.plant))
		self.assertFalse(frappe.db.exists("User Permission", {"applicable_for": self.plant}))

	def test_records_of_users_are_named_and_deleted_only_on_request(self):
		before = what_there_is()
		self.install()
		plant = make(self.plant, plant_name=f"Mine {self.key}")
		values = {"attached_to_doctype": self.plant, "attached_to_name": plant.name, "content": "green"}
		make("File", file_name=f"{self.key}.txt", is_private=1, **values)
		make("Agent Conversation", agent=self.agent, title="About roses")
		mark_record(self.plant, plant.name, ["mail"], None)
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, f"1 {self.plant}, 1 Agent Conversation"):
			remove_pack(self.name)
		self.assertTrue(frappe.db.exists("Agent", self.agent))
		remove_pack(self.name, with_records=True)
		self.assertEqual(what_there_is(), before)

	def test_removal_is_refused_while_other_tools_need_its_doctypes(self):
		self.install()
		values = {"types": "Get List", "reference_doctype": self.plant, "description": "Mine"}
		tool = make("Agent Tool Function", tool_name=f"mine_{self.key}", **values)
		with self.assertRaisesRegex(UsageError, f"Agent Tool Function mine_{self.key}"):
			remove_pack(self.name)
		tool.delete()
		frappe.db.commit()

	def test_refused_removal_names_what_needs_the_pack(self):
		self.install()
		values = {"agent": self.agent, "trigger_type": "Manual", "prompt": "Go"}
		trigger = make("Agent Trigger", trigger_name=f"Press {self.key}", **values)
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, f"^[^<]*{trigger.name}"):
			remove_pack(self.name)
		trigger.delete()
		slot = {"tool": f"list_{self.key}"}
		agent = make("Agent", agent_name=f"Other {self.key}", instructions="Work.", agent_tool=[slot])
		frappe.db.commit()
		try:
			raise KeyError("of the installation that is undone")
		except KeyError:
			with self.assertRaisesRegex(UsageError, f"^[^<]*{agent.name}"):
				remove_pack(self.name)
		agent.delete()
		frappe.db.commit()

	def test_removing_a_pack_takes_its_role_from_users(self):
		self.install()
		user = make_user(self.role)
		remove_pack(self.name)
		self.assertFalse(frappe.db.exists("Role", self.role))
		self.assertNotIn(self.role, [row.role for row in frappe.get_doc("User", user).roles])

	def test_a_role_shared_by_two_packs_is_removed_with_the_last_one(self):
		self.install()
		other = TestRemoving("test_removing_a_pack_leaves_nothing")
		other.setUp()
		self.addCleanup(other.doCleanups)
		other.role = self.role
		other.write()
		other.install()
		remove_pack(self.name)
		self.assertTrue(frappe.db.exists("Role", self.role))
		remove_pack(other.name)
		self.assertFalse(frappe.db.exists("Role", self.role))

	def test_removing_a_pack_that_is_not_installed_is_refused(self):
		with self.assertRaisesRegex(UsageError, "is not installed"):
			remove_pack(self.name)
