"""Updates of packs: what follows the pack, what people changed and keep, and what is dropped."""

import json

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.packs import entries
from huf.ai.packs.listing import describe_pack
from huf.ai.packs.manifest import PackEntry
from huf.ai.packs.removing import remove_pack
from huf.tests.factories import make, make_user, unique
from huf.tests.packs.samples import MANAGER, PackTestCase, what_there_is


class TestUpdating(PackTestCase):
	def setUp(self):
		super().setUp()
		self.install()

	def test_an_update_applies_new_values_fields_and_records(self):
		self.write("2.0", "Water them twice.", ("height", "weight"), ("Rose", "Fern"))
		report = self.install()
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "instructions"), "Water them twice.")
		self.assertTrue(frappe.db.has_column(self.plant, "weight"))
		self.assertEqual(report.made, [f"{self.plant} Fern {self.key}"])
		self.assertEqual(frappe.db.get_value("Agent Pack", self.name, "version"), "2.0")

	def test_records_of_an_update_may_use_the_fields_that_it_adds(self):
		self.install()
		self.write(version="2.0", fields=("height", "age"))
		old, new = ({"doctype": self.plant, "plant_name": f"{name} {self.key}"} for name in ("Rose", "Tulip"))
		self.put("records.json", json.dumps([{**old, "age": 4}, {**new, "age": 5}]))
		self.install()
		ages = [frappe.db.get_value(self.plant, each["plant_name"], "age") for each in (old, new)]
		self.assertEqual(ages, [4, 5])

	def test_a_failed_update_keeps_the_previous_version(self):
		before = what_there_is()
		other = {"doctype": "DocType", "name": f"Pot {self.key}", "module": "Huf", "custom": 1}
		other |= {"fields": [{"fieldname": "size", "fieldtype": "Int", "label": "Size", "reqd": 1}]}
		self.write("1.1")
		doctypes = json.loads((self.folder / "doctypes.json").read_text())
		self.put("doctypes.json", json.dumps([*doctypes, other]))
		self.put("records.json", json.dumps([{"doctype": other["name"]}]))
		with self.assertRaises(UsageError):
			self.install()
		self.assertEqual(what_there_is(), before)
		self.assertEqual(frappe.db.get_value("Agent Pack", self.name, "version"), "1.0")
		self.write("1.1", "Water them twice.")
		self.install()
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "instructions"), "Water them twice.")

	def test_an_update_leaves_who_has_edited_a_trigger_its_author(self):
		def write(**more):
			values = {"trigger_name": f"Water {self.key}", "agent": self.agent, "trigger_type": "Doc Event"}
			values |= {"reference_doctype": "ToDo", "doc_event": "after_insert", **more}
			self.write(more=f"triggers:\n  - {json.dumps(values)}\n")
			self.install()

		write(prompt="Water them.")
		manager = make_user("Huf Manager")
		with acting_as(manager):
			trigger = frappe.get_doc("Agent Trigger", f"Water {self.key}")
			trigger.update({"prompt": "Change my roles.", "disabled": 0}).save()
		frappe.db.commit()
		write(prompt="Water them.", condition="doc.status == 'Open'")
		trigger.reload()
		self.assertEqual((trigger.prompt, trigger.condition), ("Change my roles.", "doc.status == 'Open'"))
		self.assertEqual(trigger.modified_by, manager)

	def test_edited_fields_are_kept_and_reported_and_other_fields_updated(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.temperature = 1
		agent.save()
		self.write("2.0", "Water them twice.")
		report = self.install()
		values = frappe.db.get_value("Agent", self.agent, ["instructions", "temperature"])
		self.assertEqual(values, ("Water them twice.", 1))
		self.assertEqual(report.kept, [f"Agent {self.agent}: temperature was changed here and is kept."])
		self.assertEqual(self.install().kept, report.kept)
		text = (self.folder / "pack.yaml").read_text()
		self.put("pack.yaml", text.replace("temperature: 0.2", "temperature: 1"))
		self.assertEqual(self.install().kept, [])

	def test_a_field_filled_in_before_the_pack_sets_it_is_kept(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.description = "Ours."
		agent.save(ignore_version=False)
		text = (self.folder / "pack.yaml").read_text()
		both = "    temperature: 0.2\n    description: Theirs.\n    starters: Hello\n"
		self.put("pack.yaml", text.replace("    temperature: 0.2\n", both))
		for _ in range(2):
			report = self.install()
			values = frappe.db.get_value("Agent", self.agent, ["description", "starters"])
			self.assertEqual(values, ("Ours.", "Hello"))
			self.assertEqual(report.kept, [f"Agent {self.agent}: description was changed here and is kept."])

	def test_tables_and_rows_that_people_filled_in_before_the_pack_sets_them_are_kept(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.append("roles", {"role": "Huf Manager"})
		agent.append("agent_tool", {"tool": "web_search", "requires_approval": 1})
		agent.save(ignore_version=False)
		text = (self.folder / "pack.yaml").read_text()
		text = text.replace("    temperature: 0.2\n", "    roles: [{role: Huf User}]\n    temperature: 0.2\n")
		more = "{tool: web_search, requires_approval: 0}, open_url]"
		self.put("pack.yaml", text.replace("extract_text]", f"extract_text, {more}"))
		report = self.install()
		agent.reload()
		self.assertEqual([row.role for row in agent.roles], ["Huf Manager"])
		tools = {row.tool: row.requires_approval for row in agent.agent_tool}
		self.assertEqual((tools["web_search"], tools["open_url"]), (1, 0))
		what = "roles and agent_tool[web_search] were changed here and are kept."
		self.assertEqual(report.kept, [f"Agent {self.agent}: {what}"])

	def test_an_update_neither_replaces_nor_clears_a_secret(self):
		about = {"provide_name": unique("Provider")}
		first, second, third = (
			PackEntry("AI Provider", {**about, **given}, "records.json")
			for given in ({"api_key": "sk-of-the-pack-1"}, {"api_key": "sk-of-the-pack-2"}, {})
		)
		doc = entries.insert_entry(first)
		digests = entries.build_first_digests(first, doc.name)
		doc.api_key = "sk-of-a-person-123456"
		doc.save(ignore_version=False)
		for entry in (second, third):
			_merged, digests = entries.update_entry(entry, doc.name, digests)
			stored = frappe.get_doc("AI Provider", doc.name)
			self.assertEqual(stored.get_password("api_key"), "sk-of-a-person-123456")

	def test_keys_that_people_entered_in_a_table_stay_when_the_pack_adds_rows(self):
		head = {"tool_name": f"stock_{self.key}", "types": "GET", "base_url": "https://stock.example.com"}
		head |= {"description": "Stock"}
		first, second = (
			PackEntry(
				"Agent Tool Function", {**head, "headers": [{"header": each} for each in names]}, "pack.yaml"
			)
			for names in (["X-Key"], ["X-Tenant", "X-Key"])
		)
		doc = entries.insert_entry(first)
		digests = entries.build_first_digests(first, doc.name)
		doc.headers[0].value = "key-of-a-person-1"
		doc.save(ignore_version=False)
		entries.update_entry(second, doc.name, digests)
		rows = frappe.get_doc(doc.doctype, doc.name).headers
		self.assertEqual([row.header for row in rows], ["X-Tenant", "X-Key"])
		self.assertEqual(rows[1].get_password("value"), "key-of-a-person-1")

	def test_what_people_renamed_follows_the_pack_and_is_removed_with_it(self):
		here = f"Gärtner {self.key}", f"plants_{self.key}"
		frappe.rename_doc("Agent", self.agent, here[0])
		frappe.rename_doc("Agent Tool Function", f"list_{self.key}", here[1])
		frappe.db.set_value("Agent Tool", {"parent": here[0], "tool": here[1]}, "requires_approval", 1)
		more = f"  - {{agent_name: Helper {self.key}, tools: [list_{self.key}]}}\ntools:\n"
		text = (self.folder / "pack.yaml").read_text().replace("tools:\n  -", f"{more}  -")
		self.put("pack.yaml", text.replace("description: List plants", "description: List all plants"))
		self.put("prompt.md", "Water them twice.")
		report = self.install()
		self.assertEqual(frappe.db.get_value("Agent", here[0], "instructions"), "Water them twice.")
		self.assertEqual(
			frappe.db.get_value("Agent Tool Function", here[1], "description"), "List all plants"
		)
		self.assertEqual(
			[row.tool for row in frappe.get_doc("Agent", f"Helper {self.key}").agent_tool], [here[1]]
		)
		[slot] = [row for row in frappe.get_doc("Agent", here[0]).agent_tool if row.tool == here[1]]
		self.assertEqual(slot.requires_approval, 1)
		self.assertEqual(report.kept, [])
		self.assertEqual(self.install().changed, [])
		remove_pack(self.name)
		self.assertFalse(
			frappe.db.exists("Agent", here[0]) or frappe.db.exists("Agent Tool Function", here[1])
		)

	def test_renamed_records_that_the_pack_drops_are_deleted_unless_people_changed_more(self):
		self.write("2.0", plants=("Rose", "Fern"))
		nightly = f"{{trigger_name: Go {self.key}, agent: {self.agent}, trigger_type: Manual, prompt: Water}}"
		self.put("pack.yaml", (self.folder / "pack.yaml").read_text() + f"triggers:\n  - {nightly}\n")
		self.install()
		frappe.rename_doc(self.plant, f"Rose {self.key}", f"Róża {self.key}")
		frappe.rename_doc(self.plant, f"Fern {self.key}", f"Paproć {self.key}")
		frappe.rename_doc("Agent", self.agent, f"Gärtner {self.key}")
		frappe.db.set_value(self.plant, f"Paproć {self.key}", "height", 9)
		self.write("3.0", plants=())
		report = self.install()
		self.assertEqual(report.removed, [f"Agent Trigger Go {self.key}", f"{self.plant} Róża {self.key}"])
		changed = "the pack no longer has it, but it was changed here and is kept."
		self.assertEqual(report.kept, [f"{self.plant} Paproć {self.key}: {changed}"])

	def test_records_that_were_only_renamed_are_not_counted_as_those_of_people(self):
		frappe.rename_doc(self.plant, f"Rose {self.key}", f"Róża {self.key}")
		self.assertEqual(describe_pack(self.name)["people"], {})
		remove_pack(self.name)
		self.assertFalse(frappe.db.exists("DocType", self.plant))

	def test_links_to_records_that_the_site_names_are_not_taken_for_changes(self):
		visit = f"Visit {self.key}"
		first = {"fieldname": "first", "fieldtype": "Link", "label": "First", "options": visit}
		values = {"doctype": "DocType", "name": visit, "module": "Huf", "custom": 1, "permissions": [MANAGER]}
		values |= {"autoname": f"V-{self.key}-.####", "fields": [first]}
		doctypes = json.loads((self.folder / "doctypes.json").read_text())
		self.put("doctypes.json", json.dumps([*doctypes, values]))
		rows = [{"doctype": visit}, {"doctype": visit, "first": f"V-{self.key}-0001"}]
		self.put("records.json", json.dumps(rows))
		self.install()
		self.assertEqual(self.install().kept, [])

	def test_a_row_that_people_and_then_the_pack_removed_is_not_reported(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.agent_tool = [row for row in agent.agent_tool if row.tool != "extract_text"]
		agent.save(ignore_version=False)
		self.put("pack.yaml", (self.folder / "pack.yaml").read_text().replace(", extract_text", ""))
		report = self.install()
		self.assertEqual((report.changed, report.kept), ([], []))

	def test_a_name_in_other_case_is_the_same_document(self):
		text = (self.folder / "pack.yaml").read_text().replace(self.agent, self.agent.upper())
		self.put("pack.yaml", text)
		report = self.install()
		self.assertEqual((report.made, report.left, report.removed), ([], [], []))
		self.assertTrue(frappe.db.exists("Agent", self.agent))
		twin = f"agents:\n  - {{agent_name: {self.agent}, instructions: Dig.}}\n"
		self.put("pack.yaml", text.replace("agents:\n", twin))
		with self.assertRaisesRegex(UsageError, f"Agent {self.agent.upper()} appears twice"):
			self.install()

	def test_a_renamed_document_is_found_under_its_name_in_other_case(self):
		tool, here = f"list_{self.key}", f"plants_{self.key}"
		frappe.rename_doc("Agent Tool Function", tool, here)
		self.put("pack.yaml", (self.folder / "pack.yaml").read_text().replace(tool, tool.upper()))
		report = self.install()
		self.assertEqual((report.made, report.kept, report.removed), ([], [], []))
		self.assertEqual(frappe.db.get_value("Agent Tool Function", here, "tool_name"), here)
		tools = [row.tool for row in frappe.get_doc("Agent", self.agent).agent_tool]
		self.assertEqual(sorted(tools), ["extract_text", here])
		self.assertEqual(self.install().changed, [])

	def test_records_dropped_from_the_pack_are_kept_while_in_use(self):
		model = f"cohere/test-{self.key}"
		text = (self.folder / "pack.yaml").read_text()
		self.put("pack.yaml", text.replace("temperature: 0.2", f"model: {model}"))
		self.install()
		provider = frappe.get_doc("AI Provider", frappe.db.get_value("AI Model", model, "provider"))
		provider.api_key = "sk-of-a-person-123456"
		provider.save()
		user = make_user(self.role)
		mine = make("Agent", agent_name=unique("Mine"), agent_tool=[{"tool": f"list_{self.key}"}])
		text = text[: text.index("tools:\n  -")].replace(f"list_{self.key}, ", "")
		self.put("pack.yaml", text.replace(f"roles: [{self.role}]", ""))
		doctypes = json.loads((self.folder / "doctypes.json").read_text())
		doctypes[0]["permissions"].pop()
		self.put("doctypes.json", json.dumps(doctypes))
		frappe.clear_messages()
		report = self.install()
		self.assertEqual(report.removed, [f"AI Model {model}", f"Role {self.role}"])
		in_use = "the pack no longer has it, but it is in use and is kept."
		tool = f"Agent Tool Function list_{self.key}: {in_use}"
		self.assertEqual(report.kept, [f"AI Provider {provider.name}: {in_use}", tool])
		self.assertNotIn(self.role, frappe.get_roles(user))
		self.assertEqual(frappe.local.message_log, [])
		for doc in (mine, frappe.get_doc("Agent Tool Function", f"list_{self.key}"), provider):
			doc.delete()
		frappe.db.commit()

	def test_a_tool_that_a_person_added_stays(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.append("agent_tool", {"tool": "final_answer"})
		agent.save()
		self.write("2.0", "Water them twice.")
		self.install()
		tools = [row.tool for row in frappe.get_doc("Agent", self.agent).agent_tool]
		self.assertEqual(tools, [f"list_{self.key}", "extract_text", "final_answer"])

	def test_a_field_that_a_person_added_stays(self):
		doctype = frappe.get_doc("DocType", self.plant)
		doctype.append("fields", {"fieldname": "mine", "fieldtype": "Data", "label": "Mine"})
		doctype.save()
		self.write("2.0", fields=("height", "weight"))
		self.install()
		fields = {df.fieldname for df in frappe.get_meta(self.plant).fields}
		self.assertEqual(fields, {"plant_name", "height", "weight", "mine"})

	def test_records_deleted_by_a_user_are_not_recreated(self):
		frappe.delete_doc(self.plant, f"Rose {self.key}")
		report = self.install()
		self.assertEqual(report.kept, [f"{self.plant} Rose {self.key}: it was deleted, and stays so."])
		self.assertFalse(frappe.db.exists(self.plant, f"Rose {self.key}"))

	def test_a_pack_whose_doctype_people_deleted_is_updated_and_removed(self):
		agent = frappe.get_doc("Agent", self.agent)
		agent.agent_tool = []
		agent.save(ignore_version=False)
		for doctype, name in (
			("Agent Tool Function", f"list_{self.key}"),
			(self.plant, f"Rose {self.key}"),
			("DocType", self.plant),
		):
			frappe.delete_doc(doctype, name)
		frappe.db.commit()
		self.write("2.0", "Water them twice.", plants=("Rose", "Fern"))
		for _ in range(2):
			report = self.install()
			self.assertEqual(report.made, [])
			self.assertIn(f"DocType {self.plant}: it was deleted, and stays so.", report.kept)
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "instructions"), "Water them twice.")
		remove_pack(self.name)
		frappe.db.sql_ddl(f"drop table if exists `tab{self.plant}`")

	def test_what_an_update_adds_does_not_link_to_records_that_people_deleted(self):
		agent, helper, tool = (frappe.get_doc("Agent", self.agent), f"Helper {self.key}", f"list_{self.key}")
		agent.agent_tool = [row for row in agent.agent_tool if row.tool != tool]
		agent.save(ignore_version=False)
		frappe.delete_doc("Agent Tool Function", tool)
		frappe.db.commit()
		more = f"  - {{agent_name: {helper}, tools: [{tool}, extract_text]}}\ntools:\n"
		text = (self.folder / "pack.yaml").read_text().replace("tools:\n  -", f"{more}  -")
		self.put("pack.yaml", text)
		report = self.install()
		deleted = f"Agent Tool Function {tool}: it was deleted, and stays so."
		self.assertEqual((report.made, report.kept), ([f"Agent {helper}"], [deleted]))
		self.assertEqual([row.tool for row in frappe.get_doc("Agent", helper).agent_tool], ["extract_text"])
		self.assertEqual(self.install().changed, [])
		frappe.delete_doc("Agent", helper)
		frappe.db.commit()
		trigger = f"{{trigger_name: Go {self.key}, agent: {helper}, trigger_type: Manual, prompt: Go}}"
		self.put("pack.yaml", f"{text}triggers:\n  - {trigger}\n")
		for _ in range(2):
			report = self.install()
			self.assertEqual(report.made, [])
			needed = f"Agent Trigger Go {self.key}: it needs Agent {helper}, which was deleted here."
			self.assertIn(needed, report.kept)

	def test_records_dropped_from_the_pack_are_deleted_if_unchanged(self):
		self.write("2.0", plants=("Rose", "Fern"))
		self.install()
		frappe.db.set_value(self.plant, f"Rose {self.key}", "height", 9)
		self.write("3.0", plants=())
		report = self.install()
		self.assertEqual(report.removed, [f"{self.plant} Fern {self.key}"])
		self.assertTrue(frappe.db.exists(self.plant, f"Rose {self.key}"))
		self.assertIn("but it was changed here", report.kept[0])

	def test_agents_and_the_tools_that_call_them_are_dropped_together(self):
		helper, tool = f"Helper {self.key}", f"ask_{self.key}"
		first = f"{{agent_name: {self.agent}, instructions: Ask., tools: [{tool}]}}"
		second = f"{{agent_name: {helper}, instructions: Help.}}"
		ask = f"{{tool_name: {tool}, types: Run Agent, agent: {helper}, description: Ask}}"
		head = f"pack: {self.name}\ntitle: Test\nversion: '1'\n"
		self.put("pack.yaml", f"{head}agents: [{first}, {second}]\ntools: [{ask}]\n")
		self.install()
		self.put("pack.yaml", head)
		report = self.install()
		self.assertEqual(report.kept, [])
		for doctype, name in (("Agent", self.agent), ("Agent", helper), ("Agent Tool Function", tool)):
			self.assertFalse(frappe.db.exists(doctype, name))

	def test_a_doctype_dropped_from_the_pack_is_deleted_if_empty(self):
		empty = f"Pot {self.key}"
		values = {"doctype": "DocType", "name": empty, "module": "Huf", "custom": 1}
		values["fields"] = [{"fieldname": "size", "fieldtype": "Int", "label": "Size"}]
		documents = json.loads((self.folder / "doctypes.json").read_text())
		self.put("doctypes.json", json.dumps([*documents, values]))
		self.install()
		pot = make(empty, size=1)
		self.write("2.0")
		self.assertIn(f"DocType {empty}: the pack no longer has it", self.install().kept[0])
		pot.delete()
		frappe.db.commit()
		self.put("doctypes.json", json.dumps([*documents, values]))
		frappe.delete_doc("DocType", empty)
		self.install()
		self.write("3.0")
		self.assertEqual(self.install().removed, [f"DocType {empty}"])
		self.assertFalse(frappe.db.table_exists(empty, cached=False))
