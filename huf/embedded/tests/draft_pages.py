"""Base of tests of drafts: an agent that proposes changes of a to-do, with a scripted model."""

from contextlib import contextmanager
from urllib.parse import quote

from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, call, tool_calls

ANNA = "anna@example.com"


class DraftPageTestCase(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.setups = 0
		cls.add_user(ANNA, "Huf Manager", "Huf User", "System Manager")

	def setUp(self):
		super().setUp()
		self.model = enter(self, ModelServer())
		type(self).setups += 1
		self.agent, self.tool = f"Secretary {self.setups}", f"change_todo_{self.setups}"
		self.address = f"/huf/chat?agent={quote(self.agent)}"
		provider, model = f"Scripted {self.setups}", f"scripted-{self.setups}"
		self.make("AI Provider", provide_name=provider, api_key="sk-1", api_base=self.model.base_url)
		self.make("AI Model", model_name=model, model_id="scripted", provider=provider)
		self.make(
			"Agent Tool Function",
			tool_name=self.tool,
			types="Update Document",
			reference_doctype="ToDo",
			description="Change a to-do",
			requires_approval=1,
		)
		tools = [{"tool": self.tool}, {"tool": "list_users"}]
		self.make("Agent", agent_name=self.agent, model=model, agent_tool=tools)
		self.todo = self.make("ToDo", description="Call Anna", priority="Low")["name"]
		# Drafts that an earlier test left would be listed, too.
		for each in self.call("/api/method/huf.api.draft.get_drafts")["message"]:
			self.call("/api/method/huf.api.draft.reject", {"draft": each["draft"]})

	def change(self, content: str | None = None, **values):
		"""A model reply that calls the tool to change the to-do."""
		return tool_calls([call(self.tool, {"name": self.todo, "values": values})], content)

	def propose(self, **values) -> str:
		"""Start an Administrator run that waits for approval of a change; returns the draft's name."""
		self.model.script(self.change(**values))
		request = {
			"agent_name": self.agent,
			"prompt": "Change it",
			"channel_id": f"test {len(self.model.requests)}",
		}
		result = self.call("/api/method/huf.ai.agent_integration.run_agent_sync", request)["message"]
		self.assertEqual(result["status"], "Waiting", result)
		return result["draft"]["draft"]

	def get_conversation(self, draft: str) -> str:
		return self.call(f"/api/method/huf.api.draft.get_draft?draft={draft}")["message"]["conversation"]

	def get_stored(self) -> dict:
		return self.call(f"/api/resource/ToDo/{self.todo}")["data"]

	def read_field(self, card, name: str) -> tuple[str, str]:
		"""(old, new) value of a field."""
		row = card.locator(f"[data-testid=change-field][data-field='{name}']")
		return row.locator("del").inner_text(), row.locator("ins").inner_text()

	def locate_item(self, page, draft: str, status: str):
		return page.locator(f"[data-testid=draft-item][data-name='{draft}'][data-status={status}]")

	def locate_chosen(self, page, draft: str):
		return page.locator(f"[data-testid=draft-item][data-name='{draft}'][data-chosen=true]")

	@contextmanager
	def open_chat(self, message: str):
		"""A chat with the agent in which `message` was sent."""
		with self.open_page(self.address) as page:
			self.send(page, message)
			yield page

	def send(self, page, message: str) -> None:
		page.get_by_test_id("agent-picker").filter(has_text=self.agent).wait_for()
		page.get_by_test_id("composer").fill(message)
		page.get_by_test_id("send").click()
