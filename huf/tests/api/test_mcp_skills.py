"""Agent instructions as skills over MCP: permissions, and the format of agentskills.io."""

import json
import tempfile
import unittest
from hashlib import sha256
from pathlib import Path

import frappe

from huf.tests.api.test_mcp import McpTestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.factories import make, make_agent, make_role, make_user, unique

try:
	from skills_ref import validate
except ImportError:
	validate = None

CANARY = "Never say 4711."


class TestSkills(McpTestCase):
	def setUp(self):
		super().setUp()
		self.agent = make_agent(
			None, instructions=f"Be kind: «ja».\n---\n{CANARY}", description='Says "hi" --- \n\tto: all 🙂'
		)
		self.of_other_role = make_agent(None, instructions=CANARY, roles=[{"role": make_role()}])
		self.manager = {"Authorization": f"Bearer {make_key(make_user('Huf User', 'Huf Manager'))}:{SECRET}"}
		self.pack = self.make_pack(self.agent, self.of_other_role)

	def make_pack(self, *agents: str) -> str:
		records = [{"record_doctype": "Agent", "record_name": each, "made": 1} for each in agents]
		name = f"pack_{frappe.generate_hash(length=8)}"
		return make("Agent Pack", pack_name=name, title="Night shift", version="1.0", records=records).name

	def serve(self, *offers: dict) -> None:
		self.slug = make("MCP Server", server_name=unique("Skills"), offers=list(offers)).slug
		frappe.db.commit()

	def offer_agents(self, as_skill: int) -> None:
		agents = (self.agent, self.of_other_role)
		self.serve(*({"offer_type": "Agent", "offer": each, "as_skill": as_skill} for each in agents))

	def list_skills(self, **options) -> list[dict]:
		skills, cursor = [], None
		while cursor != "":
			page = self.result("skills/list", {"cursor": cursor} if cursor else {}, **options)
			skills += page["skills"]
			cursor = page.get("nextCursor", "")
		return skills

	def collect(self, **options) -> str:
		"""Everything that a client receives about skills: the lists, and each skill and file by its URI."""
		uris = [each["uri"] for each in self.list_skills(headers=self.manager)]
		files = [f["uri"] for each in self.list_skills(headers=self.manager) for f in each["resources"]]
		sent = [self.post(method, **options) for method in ("skills/list", "resources/list")]
		sent += [self.post("skills/get", {"uri": uri}, **options) for uri in uris]
		sent += [self.post("resources/read", {"uri": uri}, **options) for uri in files]
		return "\n".join(each.get_data(as_text=True) for each in sent)

	def test_skills_of_agents_not_offered_as_skill_are_visible_only_to_managers(self):
		self.offer_agents(as_skill=0)
		self.assertNotIn(CANARY, self.collect())
		self.assertEqual(self.list_skills(), [])
		self.assertIn(CANARY, self.collect(headers=self.manager))

	def test_agent_offered_as_skill_is_visible_to_users_who_may_use_it(self):
		self.offer_agents(as_skill=1)
		(skill,) = self.list_skills()
		(contents,) = self.result("resources/read", {"uri": skill["uri"]})["contents"]
		self.assertIn(CANARY, contents["text"])
		self.assertEqual(contents["mimeType"], "text/markdown")
		self.assertNotIn(self.of_other_role.lower().replace(" ", "-"), self.collect())

	def test_default_server_lists_skills_of_agents_and_packs_only_to_managers(self):
		frappe.db.commit()
		if frappe.db.exists("MCP Server", {"slug": "default"}):
			self.skipTest("There is a record for /mcp.")
		uris = [each["uri"] for each in self.list_skills(path="/mcp", headers=self.manager)]
		self.assertTrue([uri for uri in uris if uri.startswith("skill://agents/")], uris)
		self.assertIn(f"skill://packs/{self.pack.replace('_', '-')}-pack/SKILL.md", uris)
		self.assertEqual(self.list_skills(path="/mcp"), [])

	def test_offered_pack_contains_instructions_of_usable_agents(self):
		self.serve({"offer_type": "Agent Pack", "offer": self.pack})
		(skill,) = self.list_skills()
		main, reference = skill["resources"]
		self.assertEqual(main["uri"], skill["uri"])
		self.assertIn("/references/", reference["uri"])
		text = self.result("resources/read", {"uri": reference["uri"]})["contents"][0]["text"]
		self.assertIn(CANARY, text)
		self.assertEqual(reference["digest"], f"sha256:{sha256(text.encode()).hexdigest()}")
		self.assertEqual(reference["size"], len(text.encode()))
		self.assertEqual(self.result("skills/get", {"uri": skill["uri"]})["skill"], skill)

	def test_unknown_and_forbidden_skills_return_the_same_error(self):
		self.offer_agents(as_skill=0)
		(hidden, *_) = [each["uri"] for each in self.list_skills(headers=self.manager)]
		errors = [
			self.post("skills/get", {"uri": uri}).json["error"] for uri in (hidden, "skill://x/SKILL.md")
		]
		self.assertEqual({(each["code"], each["message"]) for each in errors}, {(-32602, "Skill not found")})

	def test_skill_offer_of_unreadable_instructions_is_refused(self):
		frappe.set_user(self.user)
		server = frappe.get_doc({"doctype": "MCP Server", "server_name": unique("Mine")})
		server.append("offers", {"offer_type": "Agent", "offer": self.agent, "as_skill": 1})
		with self.assertRaises(frappe.PermissionError):
			server.run_method("validate")

	@unittest.skipUnless(validate, "skills-ref is not installed")
	def test_exported_skills_pass_the_skills_ref_validator(self):
		self.serve(
			{"offer_type": "Agent", "offer": self.agent, "as_skill": 1},
			{"offer_type": "Agent Pack", "offer": self.pack},
		)
		skills = self.list_skills()
		self.assertEqual(len(skills), 2)
		with tempfile.TemporaryDirectory() as home:
			for skill in skills:
				for file in skill["resources"]:
					path = Path(home, file["uri"].removeprefix("skill://"))
					path.parent.mkdir(parents=True, exist_ok=True)
					(contents,) = self.result("resources/read", {"uri": file["uri"]})["contents"]
					path.write_text(contents["text"], encoding="utf-8")
				folder = Path(home, skill["uri"].removeprefix("skill://")).parent
				self.assertEqual(validate(folder), [], json.dumps(skill))


del McpTestCase
