"""Shared by tests of triggers: triggers that are deleted after a test, and a worker for their events."""

import json

import frappe

from huf.ai.triggers.doc_events import run_agent_for_doc
from huf.tests.base import SiteTestCase, allow_many_users
from huf.tests.contract.connections import elsewhere
from huf.tests.factories import make_agent, make_trigger, make_user
from huf.tests.http import post

EVENT = "Agent Trigger Event"
SECRET = "the secret of this test"
RECEIVE = "/api/method/huf.api.webhook.receive?slug="


class TriggerTestCase(SiteTestCase):
	"""Has an `agent` without a model, and a `user` who may use it and write to-dos."""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		allow_many_users()
		cls.user = make_user("Huf User")
		cls.agent = make_agent()

	def trigger(self, *args, agent: str | None = None, **values):
		trigger = make_trigger(agent or self.agent, *args, **values)
		self.addCleanup(self.delete_trigger, trigger.name)
		return trigger

	def delete_trigger(self, name: str):
		frappe.db.rollback()
		frappe.set_user("Administrator")
		elsewhere(lambda: frappe.delete_doc("Agent Trigger", name, ignore_missing=True))


class WebhookTestCase(TriggerTestCase):
	"""Creates webhooks with a known secret, and delivers to them as an anonymous client."""

	def webhook(self, **values):
		return self.trigger("Webhook", run_as=self.user, webhook_secret=SECRET, **values)

	def deliver(self, trigger, body=None, path: str = RECEIVE, **headers):
		headers = {name.replace("_", "-"): value for name, value in headers.items()}
		data = body if isinstance(body, bytes | str) else json.dumps(body or {"order": "SO-1"})
		options = {"data": data, "content_type": "application/json", "headers": headers}
		return post(path + trigger.webhook_slug, **options)


def todo(**values):
	"""A to-do of the current user, saved but not committed."""
	values = {"description": "A thing to do", "allocated_to": frappe.session.user, **values}
	return frappe.get_doc({"doctype": "ToDo", **values}).insert()


def events_of(trigger, **filters) -> list:
	filters = {"trigger": trigger.name, **filters}
	return frappe.get_all(EVENT, filters=filters, fields=["*"], order_by="creation asc, name asc")


def runs_of(trigger) -> list:
	filters = {"trigger": trigger.name}
	return frappe.get_all("Agent Run", filters=filters, fields=["*"], order_by="creation asc, name asc")


def work_off(trigger) -> list:
	"""Commit, process a trigger's events as a worker would, and return the runs."""
	frappe.db.commit()
	for event in events_of(trigger):
		run_agent_for_doc(event.name)
	return runs_of(trigger)
