"""The commands `huf undo`, `huf stop` and `huf release`."""

import click

from huf.embedded.cli import cli, connected


@cli.command()
@click.argument("runs", nargs=-1)
@click.option("--agent", help="Undo what this agent did.")
@click.option("--since", help='With --agent: since this time, such as "2026-11-22 09:00".')
@click.option("--restore", is_flag=True, help="Also restore what others changed since.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--user", default="Administrator", show_default=True, help="User who undoes.")
@click.pass_obj
def undo(home, runs, agent, since, restore, yes, user):
	"""Take back what runs changed; shows it first."""
	if bool(runs) == bool(agent):
		raise click.UsageError("Name the runs to undo, or an agent with --agent.")
	if agent and not since:
		raise click.UsageError('With --agent, say since when, such as --since "2026-11-22 09:00".')
	with connected(home, user) as frappe:
		from huf.ai.undo.scope import parse_scope
		from huf.ai.undo.undo import apply_undo, preview_undo

		if agent and not frappe.db.exists("Agent", agent):
			raise click.ClickException(f"There is no agent {agent!r}.")
		scope = parse_scope(list(runs), agent, since)
		decisions = {"*": "restore"} if restore else {}
		preview = preview_undo(scope, decisions)
		for line in describe_lines(preview):
			click.echo(line)
		decisions |= {problem["key"]: "keep" for problem in preview["problems"]}
		if preview["problems"]:
			preview = preview_undo(scope, decisions)
		if not preview["difference"]["changes"]:
			click.echo("Nothing to undo.")
			return
		if yes or click.confirm("Undo this?"):
			done = apply_undo(scope, preview["digest"], decisions)
			click.echo(f"Undone by {done['run']}; `huf undo {done['run']}` takes it back.")


def describe_lines(preview: dict) -> list[str]:
	"""A preview in lines."""
	lines = []
	for change in preview["difference"]["changes"]:
		lines.append(f"{change['action']} {change['doctype']} {change['name'] or '(not readable)'}")
		lines += [
			f"  {field['label']}: {field['before']} -> {field['after']}"
			for field in change["fields"]
			if change["action"] == "update"
		]
	lines += map(describe_conflict, preview["conflicts"])
	lines += [f"kept: {each['doctype']} {each['name']}: {each['error']}" for each in preview["problems"]]
	lines += [describe_note(each) for each in preview["notes"]]
	lines += [f"not reversible: {each['tool']} {each['arguments']}" for each in preview["external"]]
	lines += [f"not recorded: {each['tool']} {each['arguments']}" for each in preview["untraced"]]
	if preview["hidden"]:
		lines.append(f"kept, and not readable for this user: {preview['hidden']}")
	return lines


def describe_note(restored: dict) -> str:
	"""A line about what a restored document does not get back."""
	left = f"Not restored: {', '.join(restored['left'])}." if restored["left"] else None
	notes = " ".join(filter(None, (restored["note"], left)))
	return f"note: {restored['doctype']} {restored['name']}: {notes}"


def describe_conflict(conflict: dict) -> str:
	"""A line about a value, or a whole document, that has changed since."""
	verb = "restored" if conflict["decision"] == "restore" else "kept"
	line = f"{verb}: {conflict['doctype']} {conflict['name']}, changed by {conflict['changed_by']} since"
	if not conflict["path"]:
		return line
	now, before = (
		"empty" if conflict[key] is None else repr(conflict[key]) for key in ("current", "restored")
	)
	return f"{line}: {conflict['label']} is {now}, it was {before}"


@cli.command()
@click.argument("target", required=False)
@click.option("--agent", "scope", flag_value="Agent", help="TARGET is an agent.")
@click.option("--tool", "scope", flag_value="Tool", help="TARGET is a tool.")
@click.option("--provider", "scope", flag_value="Provider", help="TARGET is a provider.")
@click.option("--user", "scope", flag_value="User", help="TARGET is a user.")
@click.option("--trigger", "scope", flag_value="Trigger", help="TARGET is a trigger.")
@click.option("--reason", default="", help="What others read.")
@click.pass_obj
def stop(home, target, scope, reason):
	"""Stop all agents, or what TARGET names; see `huf release`."""
	with connected(home):
		from huf.ai.runs import stopping

		if (target is None) != (scope is None):
			raise click.UsageError("Name a target with --agent, --tool, --provider, --user or --trigger.")
		done = stopping.stop(scope or "All", target, reason)
		click.echo(f"Stopped. `huf release {done['stop']['name']}` resumes.")
		for call in done["running"]:
			what = call["tool"] or "model call"
			click.echo(f"  still under way: {what} of {call['agent']}, run {call['run']}")


@cli.command()
@click.argument("stop", required=False)
@click.pass_obj
def release(home, stop):
	"""Release a stop, or all of them, and resume the queue."""
	with connected(home):
		from huf.ai.runs import stopping
		from huf.ai.storage.stops import read_stops

		names = [stop] if stop is not None else [each["name"] for each in read_stops()]
		if not names:
			click.echo("Nothing is stopped.")
		for name in names:
			runs = stopping.release(name)
			click.echo(f"Released {name}. Runs that resume: {len(runs)}.")
