"""Writes Agent Run rows: start, end and requests to cancel."""

import json
from dataclasses import replace
from typing import Any

import frappe
from frappe.utils import now

from huf.ai.core.errors import UsageError
from huf.ai.core.json_text import to_canonical_json
from huf.ai.core.stored_text import clip, digest
from huf.ai.core.trigger_types import RunCause
from huf.ai.core.types import OPEN_STATUSES, AgentRequest, Outcome, RunStatus, Usage
from huf.ai.storage import leases
from huf.ai.storage.drafts import expire_pending
from huf.ai.storage.leases import Lease, lease_expiry, new_worker
from huf.ai.storage.recorded_run import read_recorded
from huf.ai.storage.rows import insert_row, update_row
from huf.ai.storage.shared_values import share_value

CANCEL_LIFETIME_S = 3600


def insert_run(
	request: AgentRequest,
	conversation: str,
	provider: str | None,
	model: str,
	status: RunStatus,
	opening: list[dict] | dict | None,
) -> Lease:
	"""Insert the Agent Run; a Started one gets a lease at once. Does not commit.

	`opening`: the messages that begin the transcript, see `recorded_run.Opening`. With the journal they allow
	a replay. None if the run does not begin yet, see `store_opening`.
	"""
	started = status is RunStatus.STARTED
	worker, lease_until = new_worker(), lease_expiry()
	cause, routed = request.cause or RunCause(""), request.routed
	name = insert_row(
		"Agent Run",
		{
			"agent": request.agent,
			"conversation": conversation,
			"provider": provider,
			"model": model,
			"prompt": clip(request.prompt or request.message_files.title),
			"opening": None if opening is None else to_canonical_json(opening),
			"status": status.value,
			"mode": request.mode.value if request.mode else None,
			"tier": request.tier or 0,
			"run_as": request.user,
			"parent_run": request.parent_run,
			"parent_call": request.parent_call,
			"trigger": cause.trigger,
			"caused_by": cause.caused_by,
			"depth": cause.depth,
			"reference_doctype": cause.reference_doctype,
			"reference_name": cause.reference_name,
			"route": routed.route if routed else None,
			"confidence": routed.confidence if routed else 0,
			"plan": json.dumps(routed.plan, ensure_ascii=False) if routed else None,
			"client_fields": to_canonical_json(request.client_fields) if request.client_fields else None,
			"request_key": request.idempotency_key or request.request_key,
			"started_at": now() if started else None,
			"worker": worker if started else None,
			"lease_until": lease_until if started else None,
			"attempts": int(started),
		},
		owner=request.user,
	)
	return Lease(name, worker)


def lock_sender(user: str) -> None:
	"""Make requests with an idempotency key of one user wait until this transaction ends."""
	frappe.db.get_value("User", user, "name", for_update=True)


def has_twin(request: AgentRequest, run: str) -> bool:
	"""Whether an earlier request of the user with the same idempotency key has a run. A chat's run that the
	agent takes over does not count.

	Call it after `lock_sender`, in the transaction that has written `run`.
	"""
	taken_over = request.routed.replaces if request.routed else None
	twins = {
		"request_key": request.idempotency_key,
		"owner": request.user,
		"name": ["not in", [run, taken_over or run]],
	}
	# A locking read, because this transaction may see the table as it was before the other one committed.
	return bool(frappe.db.get_value("Agent Run", twins, "name", for_update=True))


def close_run(run: str, agent: str, outcome: Outcome, duration_ms: int) -> list[dict]:
	"""Store how the run ended, and count it on the agent; returns its models, see `sum_models`. Does not
	commit.
	"""
	models, masked = sum_models(run)
	recorded = clip_texts(outcome)
	ended = now()
	update_row(
		"Agent Run",
		run,
		{
			"status": outcome.status.value,
			"stop_reason": outcome.stop_reason.value,
			"response": recorded.text,
			"error_message": recorded.error,
			**as_usage_values(outcome.usage),
			"steps": outcome.steps,
			"models": json.dumps(models, ensure_ascii=False),
			"masked": masked,
			"duration_ms": duration_ms,
			"ended_at": ended,
			"modified": ended,
			"lease_until": None,
			"transcript_digest": digest_transcript(outcome),
			"claims": json.dumps(outcome.claims, ensure_ascii=False) if outcome.claims else None,
			"unconfirmed_claims": sum(not claim["confirmed"] for claim in outcome.claims),
		},
	)
	frappe.db.sql(
		"update `tabAgent` set total_run = total_run + 1, last_run = %s where name = %s", (ended, agent)
	)
	return models


def as_usage_values(usage: Usage) -> dict:
	return {
		"input_tokens": usage.input_tokens,
		"output_tokens": usage.output_tokens,
		"total_tokens": usage.input_tokens + usage.output_tokens,
		"cached_tokens": usage.cached_tokens,
		"total_cost": usage.cost or 0,
		"unpriced_calls": usage.unpriced_calls,
	}


def suspend_with_usage(lease: Lease) -> None:
	"""Like `leases.suspend_run`. What the run has used so far is stored: it may wait for days, and costs are
	summed over runs.
	"""
	leases.suspend_run(lease)
	update_row("Agent Run", lease.run, as_usage_values(read_recorded(lease.run).usage))


def sum_models(run: str) -> tuple[list[dict], str | None]:
	"""The models that used tokens in a run, by their first calls, and `read_masked`.

	[{provider, model, calls, input_tokens, output_tokens, cost}]; cost in USD, None if a price is unknown.
	"""
	rows = frappe.db.sql(
		"""select provider, model, count(*) as calls, sum(input_tokens) as input_tokens,
		sum(output_tokens) as output_tokens, sum(cost) as cost, min(cost_known) as is_priced,
		count(masked) as masked_calls
		from `tabAgent LLM Call` where run = %s and (status = 'Success' or input_tokens > 0)
		group by provider, model order by min(creation)""",
		(run,),
		as_dict=True,
	)
	models = [
		{
			"provider": row.provider,
			"model": row.model,
			"calls": int(row.calls),
			"input_tokens": int(row.input_tokens or 0),
			"output_tokens": int(row.output_tokens or 0),
			"cost": float(row.cost or 0) if row.is_priced else None,
		}
		for row in rows
	]
	return models, read_masked(run) if any(row.masked_calls for row in rows) else None


def read_masked(run: str) -> str | None:
	"""The counts of masked values of the run's last model call, as JSON. Each call masks the whole
	transcript.
	"""
	filters = {"run": run, "masked": ["is", "set"]}
	rows = frappe.get_all(
		"Agent LLM Call", filters, pluck="masked", order_by="step desc, creation desc", limit=1
	)
	return rows[0] if rows else None


def clip_texts(outcome: Outcome) -> Outcome:
	"""The outcome as its row has it."""
	return replace(outcome, text=clip(outcome.text), error=clip(outcome.error))


def digest_transcript(outcome: Outcome) -> str:
	"""A digest of the recorded parts of a transcript, to compare with a replay."""
	return digest(clip_texts(outcome).transcript())


def request_cancel(run: str) -> None:
	"""Ask a run to end: at its next step, or at once while it waits for a tool or a model."""
	update_row("Agent Run", run, {"cancel_requested": 1})
	# While a synchronous tool uses the run's connection, only the cache can be checked.
	share_value(cancel_key(run), 1, CANCEL_LIFETIME_S)


def end_children(run: str, reason: str) -> None:
	"""Ask the open runs that a run has called to end, and nobody about their drafts. Does not commit.

	The workers that take them over close them.
	"""
	for child in leases.read_children(run):
		request_cancel(child)
		expire_pending(child, reason)
		leases.wake_run(child)


def refuse_deletion(part: Any) -> None:
	"""Refuse to delete a call or message of a run that has not ended: a worker would make the call again, or
	run without its prompt.
	"""
	if part.run and frappe.db.get_value("Agent Run", part.run, "status") in OPEN_STATUSES:
		raise UsageError("Its run has not ended. Cancel the run before you delete a part of it.")


def refuse_deletion_of_called_run(run: Any) -> None:
	"""Refuse to delete an open run that another run waits for: that one would start it again."""
	caller = run.parent_run and frappe.db.get_value("Agent Run", run.parent_run, "status")
	if run.status in OPEN_STATUSES and caller in OPEN_STATUSES:
		raise UsageError("The run that called this one has not ended. Cancel that run first.")


def is_cancel_cached(run: str) -> bool:
	return bool(frappe.cache.get_value(cancel_key(run), expires=True))


def cancel_key(run: str) -> str:
	return f"huf_cancel:{run}"


def store_opening(run: str, opening: list[dict] | dict) -> None:
	"""Store the first messages of a queued run that begins now. Commits."""
	update_row("Agent Run", run, {"opening": to_canonical_json(opening)})
	frappe.db.commit()
