"""Creates records with unique names for tests; unless a docstring says otherwise, the caller commits."""

import frappe
from faker import Faker

from huf.ai.storage.stops import read_stops, remove_stop
from huf.tests.model_server import ModelServer

fake = Faker()
SECRET = "sk-secret-of-the-test-1234567890"


def unique(word: str) -> str:
	"""A unique name. It ends in a letter, so that random digits are not masked as a phone number."""
	return f"{word} {frappe.generate_hash(length=8)}x"


def make(doctype: str, **values):
	return frappe.get_doc({"doctype": doctype, **values}).insert()


def make_user(*roles: str) -> str:
	"""A committed user with these roles; returns the name."""
	# Frappe limits a site to 60 new users an hour; tests create more.
	frappe.local.conf["throttle_user_limit"] = 100_000
	user = frappe.get_doc(
		{
			"doctype": "User",
			"email": f"{frappe.generate_hash(length=10)}@example.com",
			"first_name": fake.first_name(),
			"send_welcome_email": 0,
			"user_type": "System User",
			"roles": [{"role": role} for role in roles],
		}
	)
	user.flags.no_welcome_mail = True
	user.insert()
	frappe.db.commit()
	return user.name


def make_file(file_name: str, content: bytes | str, user: str | None = None, **values) -> str:
	"""A committed private File of a user, as the upload endpoint creates it; returns the name."""
	before = frappe.session.user
	frappe.set_user(user or before)
	name = make("File", file_name=file_name, content=content, is_private=1, **values).name
	frappe.set_user(before)
	frappe.db.commit()
	return name


def make_role(word: str = "Test Role") -> str:
	return make("Role", role_name=unique(word)).name


def make_model(server: ModelServer, own_prices: int = 1, **values) -> str:
	"""An AI Model whose provider is the scripted server; USD 1, 2 and 0.5 per million tokens."""
	provider = make("AI Provider", provide_name=unique("Scripted"), api_key=SECRET, api_base=server.base_url)
	prices = {"own_prices": own_prices, "input_price": 1, "output_price": 2, "cached_price": 0.5}
	return make("AI Model", model_name=unique("scripted"), provider=provider.name, **prices, **values).name


def make_tool(types: str, name: str | None = None, **values) -> str:
	name = name or f"tool_{frappe.generate_hash(length=8)}"
	values.setdefault("description", f"{types} for tests")
	return make("Agent Tool Function", tool_name=name, types=types, **values).name


def make_trigger(agent: str, trigger_type: str = "Doc Event", **values):
	"""A committed trigger. The caller deletes it, or it fires for the documents of other tests."""
	if trigger_type == "Doc Event":
		values = {"reference_doctype": "ToDo", "doc_event": "on_update", **values}
	values.setdefault("trigger_name", unique("Trigger"))
	trigger = make("Agent Trigger", agent=agent, trigger_type=trigger_type, **values)
	frappe.db.commit()
	return trigger


def make_agent(model: str | None = None, tools: tuple[str, ...] = (), **values) -> str:
	"""An agent with these tools; committed, because a run commits anyway."""
	values.setdefault("agent_name", unique("Agent"))
	values.setdefault("instructions", "You are an agent under test.")
	agent = make("Agent", model=model, agent_tool=[{"tool": tool} for tool in tools], **values)
	frappe.db.commit()
	return agent.name


def remove_stops() -> None:
	"""Remove all stops of the site; commits."""
	frappe.db.rollback()
	for each in read_stops():
		remove_stop(each["name"])
	frappe.db.commit()
