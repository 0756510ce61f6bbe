"""The cost of Huf's document hook: saves with the hook, relative to saves without it."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import frappe

from huf.ai.triggers.doc_events import run_hooked_agents
from huf.tests.factories import make, make_agent, make_trigger, make_user, unique

ROUNDS = 400
CALLS = 5000
OTHERS = ("User", "Role", "File", "Report", "ToDo")


def measure() -> None:
	"""Print the time of a save with and without the hook, for different numbers of triggers."""
	agent, triggers = make_agent(), []
	user = make_user("Huf User", "System Manager")
	print_ratio("no trigger at all", "(target 1.02)")
	triggers.append(watch(agent, "User"))
	print_ratio("1 trigger on another DocType", "(target 1.02)")
	triggers += [watch(agent, OTHERS[number % len(OTHERS)]) for number in range(49)]
	print_ratio("50 triggers on other DocTypes", "(target 1.02)")
	print_hook()
	triggers.append(watch(agent, "Note", condition="doc.public == 1", run_as=user))
	print_ratio("1 more on this one, which says no", "(writes why)")
	triggers.append(watch(agent, "Note", run_as=user))
	print_ratio("1 more on this one, which fires", "(writes the event, queues a job)")
	for trigger in triggers:
		frappe.delete_doc("Agent Trigger", trigger)
	frappe.db.commit()


def watch(agent: str, doctype: str, **values) -> str:
	return make_trigger(agent, reference_doctype=doctype, **values).name


def print_ratio(label: str, remark: str) -> None:
	"""Save twice without the hook and once with it in each round, in rotating order.

	The difference of the two saves without the hook is the measurement error.
	"""
	note = make("Note", title=unique("Note"))
	frappe.db.commit()
	times: dict[str, list[float]] = {"bare": [], "bare too": [], "hooked": []}
	order = list(times)
	for _ in range(ROUNDS):
		for kind in order:
			with nullcontext() if kind == "hooked" else without_hook():
				times[kind].append(timed(lambda: save(note)))
		order.append(order.pop(0))
	bare, repeated, hooked = (statistics.median(found) for found in times.values())
	print(
		f"{label:36}{bare:8.3f} ms without, {(hooked - bare) * 1000:+8.1f} µs with"
		f"   ratio {hooked / bare:.3f} ± {abs(repeated / bare - 1):.3f} {remark}"
	)


def save(note) -> None:
	note.content = frappe.generate_hash(length=8)
	note.save()
	frappe.db.commit()


@contextmanager
def without_hook() -> Iterator[None]:
	"""Remove Huf's hooks for all DocTypes, but no other app's, from Frappe's cached hooks."""
	hooks = frappe.get_doc_hooks()["*"]
	saved = dict(hooks)
	hooks.update(
		{event: [path for path in paths if not path.startswith("huf.")] for event, paths in saved.items()}
	)
	try:
		yield
	finally:
		hooks.update(saved)


def print_hook() -> None:
	"""Print the time of the hook alone, for the two events of a save."""
	note = make("Note", title=unique("Note"))

	def call() -> None:
		for number in range(CALLS):
			note.modified = number
			run_hooked_agents(note, "on_update")
			run_hooked_agents(note, "on_change")

	call()
	print(f"{'the hook alone, for one save':36}{timed(call) / CALLS * 1000:8.1f} µs (aim under 20)")


def timed(function: Callable) -> float:
	"""The duration in milliseconds."""
	start = time.perf_counter()
	function()
	return (time.perf_counter() - start) * 1000
