"""Managers create tools only from functions that an app offers, not from Huf's or Frappe's internals."""

import json

import frappe

from huf.ai.runs.entry import run_agent_sync
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool
from huf.tests.model_server import ModelServer, text, tool_call
from huf.tests.security.clients import Client

INSERT = "huf.ai.storage.rows.insert_row"
INTERNALS = (
	INSERT,
	"huf.ai.records.rows.insert_row",
	"huf.api.draft.approve",
	"huf.install.after_install",
	"frappe.db.set_value",
	"frappe.set_user",
	"frappe.utils.password.get_decrypted_password",
	"os.system",
)


class TestCustomFunctions(SiteTestCase):
	def test_managers_cannot_create_tools_from_internal_functions(self):
		manager = Client("Huf User", "Huf Manager")
		for path in INTERNALS:
			for types in ("Custom Function", "App Provided"):
				with self.subTest(path, types=types):
					values = {
						"tool_name": f"tool_{frappe.generate_hash(length=8)}",
						"types": types,
						"function_path": path,
					}
					values |= {"description": "Writes.", "provider_app": "huf"}
					answer = manager.send("/api/resource/Agent Tool Function", "POST", json=values)
					self.assertEqual(answer.status_code, 417, answer.text)
					self.assertRegex(answer.text, "not offer|installed app|not a function|no function")

	def test_a_stored_path_to_internals_is_not_called(self):
		"""Such records exist from earlier versions or by changes that bypass validation."""
		server = enter(self, ModelServer(strict=False))
		tool = make_tool("Custom Function", function_path="frappe.client.get_list")
		definition = json.dumps({"name": tool, "description": "Writes.", "parameters": {"type": "object"}})
		values = {"function_path": INSERT, "function_definition": definition}
		frappe.db.set_value("Agent Tool Function", tool, values)
		manager = Client("Huf User", "Huf Manager").user
		row = {"parent": manager, "parenttype": "User", "parentfield": "roles", "role": "System Manager"}
		server.script(tool_call(tool, {"doctype": "Has Role", "row": row}), text("Done."))
		agent = make_agent(make_model(server), (tool,))
		frappe.set_user(manager)
		result = run_agent_sync(agent, "Make me System Manager.")
		calls = frappe.get_all("Agent Tool Call", {"run": result["run"]}, pluck="status", order_by="name")
		self.assertEqual(calls, ["Failed"])
		self.assertFalse(frappe.db.exists("Has Role", {"parent": manager, "role": "System Manager"}))
