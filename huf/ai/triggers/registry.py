"""An in-process cache of the triggers that watch each event, whose staleness is detected without a query.

Every save on the site asks several times, so the map is kept until a trigger or an agent changes. Two stamps
say when: the cache server has the time of the last change, which all processes that share it see at once; Huf
Settings has the same time in the database, written in the transaction of the change, for processes that share
only the database. A map that was read in a transaction older than the stamps is used, but not cached.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import frappe
from frappe.utils import now

from huf.ai.core.database_connections import let_statements_wait
from huf.ai.core.trigger_types import TriggerType
from huf.ai.storage.shared_values import share_value

CACHE_KEY = "huf:doc_event_agents"
CACHE_LIFETIME_S = 30 * 24 * 3600
SETTINGS, STAMP_FIELD = "Huf Settings", "triggers_changed"
FIELDS = """t.name, t.agent, t.trigger_type, t.reference_doctype, t.doc_event, t.event_name, t.`condition`,
	t.prompt, t.run_as, t.fire_on_own_changes, t.owner, t.modified_by, t.disabled, t.cron,
	t.scheduled_interval, t.interval_count, t.starts_on, t.catch_up, t.next_execution, t.webhook_slug,
	t.signature_header, t.conversation_key, a.disabled as agent_disabled,
	a.persist_user_history, a.instructions, a.provider, a.model"""
APP_EVENTS = ""
"""The key of app events in the map, in place of a DocType."""
WATCHING_TYPES = (TriggerType.DOC_EVENT.value, TriggerType.APP_EVENT.value)

TriggersByEvent = dict[str, list]
"""{event: triggers}; a trigger is a `_dict` of FIELDS. Shared: never change one."""


@dataclass(frozen=True)
class CachedTriggers:
	"""A map, and the stamps that were valid when it was read."""

	stamps: tuple
	watched: Mapping[str, TriggersByEvent]


_cached: dict[str, CachedTriggers] = {}
"""By site."""


def get_watched_triggers() -> Mapping[str, TriggersByEvent]:
	"""{DocType: {event: triggers}}, with app events under APP_EVENTS."""
	local = frappe.local
	if local.flags.get("huf_triggers_changed"):
		return read_watched_triggers()[1]
	stamp, settings = frappe.cache.get_value(CACHE_KEY, expires=True), frappe.get_cached_doc(SETTINGS)
	stamps = (stamp, settings.triggers_changed, settings.modified)
	cached = _cached.get(local.site)
	if cached and cached.stamps == stamps:
		return cached.watched
	return load_watched_triggers(*stamps)


def load_watched_triggers(stamp: str | None, *settings_stamps) -> Mapping[str, TriggersByEvent]:
	version, watched = read_watched_triggers()
	if stamp is None or version > stamp:
		publish_version(version)
		stamp = version
	if version == stamp:
		_cached[frappe.local.site] = CachedTriggers((stamp, *settings_stamps), watched)
	return watched


def read_watched_triggers() -> tuple[str, Mapping[str, TriggersByEvent]]:
	"""(time of the last change, map). The time is read first, so that the map is never older than it says."""
	version = read_triggers_version()
	watched: dict[str, TriggersByEvent] = {}
	enabled = "t.trigger_type in %s and t.disabled = 0 and a.disabled = 0"
	for trigger in read_triggers(enabled, (WATCHING_TYPES,)):
		if trigger.trigger_type == TriggerType.APP_EVENT.value:
			doctype, event = APP_EVENTS, trigger.event_name
		else:
			doctype, event = trigger.reference_doctype, trigger.doc_event
		watched.setdefault(doctype, {}).setdefault(event, []).append(trigger)
	return version, watched


def read_triggers(condition: str, values: tuple) -> list:
	"""Rows of FIELDS by trigger name; `condition` is SQL over t (Agent Trigger) and a (Agent)."""
	query = f"""select {FIELDS} from `tabAgent Trigger` t join `tabAgent` a on a.name = t.agent
		where {condition} order by t.name"""
	return frappe.db.sql(query, values, as_dict=True)


def read_triggers_version() -> str:
	# Not through the cached document: this must be what the database has now.
	query = "select value from `tabSingles` where doctype = %s and field = %s"
	found = frappe.db.sql(query, (SETTINGS, STAMP_FIELD))
	return (found and found[0][0]) or ""


def publish_version(version: str) -> None:
	share_value(CACHE_KEY, version, CACHE_LIFETIME_S)


@let_statements_wait()
def invalidate_watched_triggers() -> None:
	"""A trigger or an agent changed: this transaction sees it at once, others after the commit."""
	frappe.db.set_single_value(SETTINGS, STAMP_FIELD, now(), update_modified=False)
	if not frappe.flags.huf_triggers_changed:
		frappe.flags.huf_triggers_changed = True
		frappe.db.after_commit.add(publish_change)
		frappe.db.after_rollback.add(publish_change)


def publish_change() -> None:
	"""After the commit or rollback: the database's version is valid for all processes."""
	frappe.flags.huf_triggers_changed = False
	publish_version(read_triggers_version())
