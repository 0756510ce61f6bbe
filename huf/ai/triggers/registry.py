"""Which triggers watch which events: read once, kept in this process, and known to be true without a query.

A save asks it twice or thrice and has no time, so the map is kept for as long as nothing it was made of has changed. That
is told by two witnesses. The cache has the time of the last change, which a process that shares it learns at once. Huf
Settings have the same time in the database, in the transaction of the change; whoever caches documents truly learns it
there. A map that was made in an older view of the database than the witnesses tell of is used, but not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import frappe
from frappe.utils import now

from huf.ai.core.trigger_types import TriggerType

KEY = "huf:doc_event_agents"
KEEP_SECONDS = 30 * 24 * 3600
SETTINGS, WITNESS = "Huf Settings", "triggers_changed"

FIELDS = """t.name, t.agent, t.trigger_type, t.reference_doctype, t.doc_event, t.event_name, t.`condition`, t.prompt,
	t.run_as, t.fire_on_own_changes, t.owner, t.disabled, t.cron, t.scheduled_interval, t.interval_count, t.starts_on,
	t.catch_up, t.next_execution, t.webhook_slug, t.signature_header, a.disabled as agent_disabled, a.persist_user_history, a.instructions, a.provider, a.model"""
APP_EVENTS = ""
"""Under this name app events stand in the map, as if they were those of a DocType."""
WATCHING = (TriggerType.DOC_EVENT.value, TriggerType.APP_EVENT.value)

Events = Mapping[str, list]
"""{event: triggers}; a trigger is a `_dict` of FIELDS that nobody changes."""


@dataclass(frozen=True)
class Kept:
	"""A map, and what the witnesses said when it was made."""

	said: tuple
	watched: dict[str, Events]


_kept: dict[str, Kept] = {}


def get_watched() -> Mapping[str, Events]:
	"""{DocType: {event: triggers}}, and app events under APP_EVENTS."""
	local = frappe.local
	if local.flags.get("huf_triggers_changed"):
		return read_watched()[1]
	cached, settings = frappe.cache.get_value(KEY, expires=True), frappe.get_cached_doc(SETTINGS)
	said = (cached, settings.triggers_changed, settings.modified)
	kept = _kept.get(local.site)
	if kept and kept.said == said:
		return kept.watched
	return make_watched(*said)


def make_watched(cached: str | None, *settings) -> Mapping[str, Events]:
	version, watched = read_watched()
	if cached is None or version > cached:
		publish(version)
		cached = version
	if version == cached:
		_kept[frappe.local.site] = Kept((cached, *settings), watched)
	return watched


def read_watched() -> tuple[str, dict[str, Events]]:
	"""The time of the last change, and after it the map, so that the map is never the older one."""
	version = read_version()
	watched: dict[str, Events] = {}
	for trigger in read_triggers("t.trigger_type in %s and t.disabled = 0 and a.disabled = 0", (WATCHING,)):
		if trigger.trigger_type == TriggerType.APP_EVENT.value:
			place, event = APP_EVENTS, trigger.event_name
		else:
			place, event = trigger.reference_doctype, trigger.doc_event
		watched.setdefault(place, {}).setdefault(event, []).append(trigger)
	return version, watched


def read_triggers(condition: str, values: tuple) -> list:
	"""Triggers with what is needed of their agents, by name; `condition` is SQL over t (trigger) and a (agent)."""
	query = f"""select {FIELDS} from `tabAgent Trigger` t join `tabAgent` a on a.name = t.agent
		where {condition} order by t.name"""
	return frappe.db.sql(query, values, as_dict=True)


def read_version() -> str:
	query = "select value from `tabSingles` where doctype = %s and field = %s"
	found = frappe.db.sql(query, (SETTINGS, WITNESS))
	return (found and found[0][0]) or ""


def publish(version: str) -> None:
	# With an expiry, because Frappe keeps what has none for the rest of the request.
	frappe.cache.set_value(KEY, version, expires_in_sec=KEEP_SECONDS)


def forget_watched() -> None:
	"""A trigger or an agent has changed in this transaction: others learn it with the commit, this one at once."""
	frappe.db.set_single_value(SETTINGS, WITNESS, now(), update_modified=False)
	if not frappe.flags.huf_triggers_changed:
		frappe.flags.huf_triggers_changed = True
		frappe.db.after_commit.add(settle)
		frappe.db.after_rollback.add(settle)


def settle() -> None:
	"""After the commit: what is in the database now counts for all."""
	frappe.flags.huf_triggers_changed = False
	publish(read_version())
