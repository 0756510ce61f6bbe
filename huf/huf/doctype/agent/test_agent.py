import frappe

from huf.tests.base import SiteTestCase
from huf.tests.factories import make_agent, make_tool


class TestAgent(SiteTestCase):
	def test_a_tool_may_not_be_listed_twice(self):
		tool = make_tool("Get List", reference_doctype="ToDo")
		with self.assertRaisesRegex(frappe.ValidationError, "twice"):
			make_agent(tools=(tool, tool))

	def test_settings_out_of_range_are_refused(self):
		for values in ({"temperature": 3}, {"top_p": 1.5}):
			with self.subTest(values), self.assertRaisesRegex(frappe.ValidationError, "must be between"):
				make_agent(**values)

	def test_allowed_hosts_are_names_of_hosts_mail_domains_and_addresses(self):
		make_agent(
			allowed_hosts="localhost\n*.example.com\n@office.example\nanna@office.example\n127.0.0.1\n::1"
		)
		for entry in (
			"https://api.example.com",
			"api.example.com,",
			"localhost:8000",
			"a@b.example,c@d.example",
		):
			with self.subTest(entry), self.assertRaisesRegex(frappe.ValidationError, "not an Allowed Host"):
				make_agent(allowed_hosts=entry)

	def test_document_name_is_the_agent_name(self):
		agent = frappe.get_doc("Agent", make_agent())
		self.assertEqual(agent.name, agent.agent_name)
