"""Knowledge Sources on DocTypes of a pack are exported, installed and removed with it."""

import json

import frappe

from huf.ai.core.errors import UsageError
from huf.ai.core.session import acting_as
from huf.ai.knowledge.indexing import index_source
from huf.ai.packs.exporting import export_pack, read_pack_contents
from huf.ai.packs.removing import remove_pack
from huf.tests.factories import make, make_role, make_user
from huf.tests.packs.samples import PackTestCase


class TestKnowledgeSources(PackTestCase):
	def setUp(self):
		super().setUp()
		self.install()
		self.manuals = f"Manuals {self.key}"
		values = {"source_type": "DocType", "reference_doctype": self.plant, "description": "About plants"}
		values |= {"filters": '{"height": 3}'}
		self.reader = make_role()
		make("Knowledge Source", source_name=self.manuals, roles=[{"role": self.reader}], **values)
		frappe.db.commit()
		self.pack = f"knowing_{self.key}"
		self.addCleanup(self.tidy)

	def tidy(self) -> None:
		frappe.db.rollback()
		if frappe.db.exists("Agent Pack", self.pack):
			remove_pack(self.pack, with_records=True)
		self.forget(f"Knower {self.key}", self.manuals)

	def make_agent(self, *sources: str) -> str:
		rows = [{"source": each} for each in sources]
		return make("Agent", agent_name=f"Knower {self.key}", instructions="Answer.", knowledge=rows).name

	def forget(self, agent: str, *sources: str) -> None:
		for doctype, name in (("Agent", agent), *(("Knowledge Source", each) for each in sources)):
			if frappe.db.exists(doctype, name):
				frappe.delete_doc(doctype, name)
		frappe.db.commit()

	def test_a_source_on_a_doctype_of_the_pack_is_installed_before_its_agent_and_indexed(self):
		agent = self.make_agent(self.manuals)
		index_source(self.manuals)
		files = export_pack(self.pack, agents=[agent], with_records=True)
		own = next(
			each for each in json.loads(files["records.json"]) if each["doctype"] == "Knowledge Source"
		)
		about = {"source_name": self.manuals, "description": "About plants", "source_type": "DocType"}
		about |= {
			"reference_doctype": self.plant,
			"filters": '{"height": 3}',
			"roles": [{"role": self.reader}],
		}
		self.assertEqual(own, {"doctype": "Knowledge Source", **about})
		self.forget(agent, self.manuals)
		remove_pack(self.name, with_records=True)
		report = self.install_files(files)
		self.assertLess(
			report.made.index(f"Knowledge Source {self.manuals}"), report.made.index(f"Agent {agent}")
		)
		self.assertEqual([row.source for row in frappe.get_doc("Agent", agent).knowledge], [self.manuals])
		row = frappe.get_doc("Knowledge Source", self.manuals)
		self.assertEqual((row.state, bool(row.requested)), ("New", True))
		index_source(self.manuals, gather=False)
		found = frappe.get_all(
			"Knowledge Item", {"source": self.manuals}, ["reference_name", "state"], order_by="name asc"
		)
		self.assertEqual([tuple(each.values()) for each in found], [(f"Rose {self.key}", "Ready")])
		self.assertEqual(self.install_files(files).changed, [])
		remove_pack(self.pack)
		self.assertFalse(frappe.db.exists("Knowledge Source", self.manuals))
		self.assertFalse(frappe.db.exists("Knowledge Item", {"source": self.manuals}))

	def test_a_source_of_a_pack_that_no_agent_uses_is_exported_with_the_pack(self):
		agent = self.make_agent(self.manuals)
		files = export_pack(self.pack, agents=[agent])
		self.forget(agent, self.manuals)
		self.install_files(files)
		doc = frappe.get_doc("Agent", agent)
		doc.knowledge = []
		doc.save()
		self.assertNotIn("records.json", export_pack(self.pack, agents=[agent]))
		(source,) = json.loads(export_pack(self.pack, *read_pack_contents(self.pack))["records.json"])
		self.assertEqual(source["source_name"], self.manuals)

	def test_a_source_is_exported_without_other_records_and_its_doctype_comes_with_it(self):
		agent = self.make_agent(self.manuals)
		files = export_pack(self.pack, agents=[agent])
		self.assertEqual([each["name"] for each in json.loads(files["doctypes.json"])], [self.plant])
		kinds = [each["doctype"] for each in json.loads(files["records.json"])]
		self.assertEqual(kinds, ["Knowledge Source"])
		with acting_as(make_user("Huf Manager")):
			self.assertNotIn("records.json", export_pack(self.pack, agents=[agent]))

	def test_an_agent_that_searches_all_sources_is_exported_with_those_on_the_doctypes_of_the_pack(self):
		tool = {"tool": "search_knowledge"}
		agent = make("Agent", agent_name=f"Knower {self.key}", instructions="x", agent_tool=[tool]).name
		self.assertNotIn("records.json", export_pack(self.pack, agents=[agent]))
		files = export_pack(self.pack, agents=[agent], doctypes=[self.plant])
		self.assertEqual([row["source_name"] for row in json.loads(files["records.json"])], [self.manuals])
		self.forget(agent)

	def test_files_addresses_and_documents_of_apps_are_not_exported_and_missed_by_name(self):
		names = [f"{word} {self.key}" for word in ("Files", "Pages", "Tasks")]
		make("Knowledge Source", source_name=names[0], source_type="Files")
		make("Knowledge Source", source_name=names[1], source_type="URLs", urls="https://example.com/?key=1")
		make("Knowledge Source", source_name=names[2], source_type="DocType", reference_doctype="ToDo")
		agent = self.make_agent(*names)
		files = export_pack(self.pack, agents=[agent])
		self.assertNotIn("records.json", files)
		self.forget(agent, *names)
		with self.assertRaisesRegex(
			UsageError, f"there is no Knowledge Source Files {self.key} for the agent"
		):
			self.install_files(files)

	def test_a_pack_brings_no_source_on_other_documents_and_no_embedding_model(self):
		for values, message in (
			({"reference_doctype": "ToDo"}, "would read ToDo, which is not a DocType of the pack"),
			({"reference_doctype": self.plant, "embedding_model": "openai/x"}, "embedding_model out"),
		):
			row = {"doctype": "Knowledge Source", "source_name": "x", "source_type": "DocType", **values}
			self.put("records.json", json.dumps([row]))
			with self.assertRaisesRegex(UsageError, f"document 1: .*{message}"):
				self.install()

	def test_removal_is_refused_while_a_source_of_people_reads_its_doctypes(self):
		with self.assertRaisesRegex(UsageError, f"Knowledge Source {self.manuals}"):
			remove_pack(self.name)
