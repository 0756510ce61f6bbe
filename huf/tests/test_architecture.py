"""The structure, held by reading the source: which way imports go, and which names of frappe the app uses."""

import ast
import unittest
from functools import cache
from pathlib import Path

HUF = Path(__file__).resolve().parent.parent
NAMES = HUF / "embedded" / "frappe_names.txt"

COLUMNS = (
	(
		"doors",
		(
			*("api", "www", "ai.agent_chat", "ai.agent_hooks", "ai.agent_scheduler", "ai.agent_email"),
			*("ai.app_events", "ai.backtest", "ai.by_hand", "ai.deciding", "ai.event_runs", "ai.explain"),
			*("ai.firing", "ai.front_ends", "ai.hearing", "ai.webhooks", "ai.packs", "ai.evals"),
			*("ai.mail_jobs", "ai.mail_outbox", "ai.mail_way", "ai.mail_settings", "ai.mail_review"),
		),
	),
	("route", ("ai.routing", "ai.mail", "ai.task_routing")),
	(
		"assemble",
		(
			"ai.agent_integration",
			"ai.agent_manager",
			"ai.admission",
			"ai.approvals",
			"ai.attachments",
			"ai.draft_answers",
			"ai.background",
			"ai.open_run",
			"ai.closing",
			"ai.replay",
			"ai.lost_calls",
			"ai.summaries",
			"ai.model_setup",
			"ai.model_trial",
			"ai.tool_trial",
		),
	),
	("ask", ("ai.run", "ai.providers")),
	("turns", ("ai.loop",)),
	(
		"act",
		(
			*("ai.sdk_tools", "ai.tools", "ai.tool_functions", "ai.tool_fields", "ai.custom_functions"),
			*("ai.function_tools", "ai.tool_threads", "ai.preview", "ai.gate", "ai.difference"),
			*("ai.tool_making", "ai.knowledge"),
		),
	),
	(
		"keep",
		(
			*("ai.conversation_manager", "ai.records", "ai.tool_types", "ai.settings"),
			*("ai.conditions", "ai.schedule", "ai.trigger_map", "ai.touched", "ai.forms", "ai.finding"),
		),
	),
	(
		"travels",
		(
			"ai.types",
			"ai.attached",
			"ai.trigger_types",
			"ai.budget_types",
			"ai.mail_types",
			"ai.mail_text",
			"ai.letters",
			"ai.knowledge_words",
			"ai.trust",
			"ai.arguments",
			"ai.canonical",
			"ai.lined_yaml",
			"ai.contexts",
			"ai.drivers",
			"ai.coroutines",
			"ai.errors",
			"ai.masking",
		),
	),
)
"""From left to right. A module imports from its own column or one to the right; what travels may be anywhere."""

PURE = (
	"ai.loop",
	"ai.routing",
	"ai.mail.",
	"ai.mail_text",
	"ai.letters",
	"ai.knowledge_words",
	"ai.knowledge.chunking",
	"ai.knowledge.ranking",
	"ai.knowledge.reading",
	"ai.schedule",
	"ai.types",
	"ai.attached",
	"ai.trust",
	"ai.trigger_types",
	"ai.budget_types",
	"ai.arguments",
	"ai.canonical",
	"ai.lined_yaml",
	"ai.contexts",
	"ai.drivers",
	"ai.coroutines",
	"ai.errors",
	"ai.masking",
)
IMPURE = {"frappe", "litellm", "agents", "sqlite3", "huf.embedded"}

EXCEPTIONS = {
	# It is where others look for the way in, so it is a door as well.
	("ai.agent_integration", "ai.task_routing"),
	# A tool may run another agent, ask a model to write down speech, and search by LiteLLM: found when they are called.
	("ai.sdk_tools", "ai.agent_integration"),
	("ai.sdk_tools", "ai.providers.services"),
	("ai.tools.web", "ai.providers.services"),
	("ai.knowledge.meaning", "ai.providers.services"),
}
"""What goes against the arrow, each with its reason."""


class TestArrow(unittest.TestCase):
	def test_a_module_imports_only_from_its_own_column_or_from_the_right(self):
		against = {
			(module, target)
			for module, targets in app_imports().items()
			for target in targets
			if place(module) is not None and place(target) is not None and place(target) < place(module)
		}
		self.assertEqual(against - EXCEPTIONS, set())
		self.assertEqual(EXCEPTIONS - against, set(), "no longer needed")

	def test_every_module_of_ai_has_a_column(self):
		self.assertEqual([m for m in app_imports() if m.startswith("ai.") and place(m) is None], [])

	def test_pure_modules_know_no_site_and_no_provider(self):
		for path in sources():
			if name_of(path).startswith(PURE):
				self.assertEqual(
					IMPURE & {part for name in imports(path) for part in (name, name.partition(".")[0])},
					set(),
					path,
				)

	def test_only_one_module_imports_litellm(self):
		users = {
			name_of(path)
			for path in sources()
			if any(n.partition(".")[0] == "litellm" for n in imports(path))
		}
		self.assertEqual(users, {"ai.providers.litellm"})

	def test_only_embedded_knows_which_home_it_is_in(self):
		users = {
			name_of(path) for path in sources() if any(n.startswith("huf.embedded") for n in imports(path))
		}
		self.assertEqual(users, set())

	def test_only_records_ignore_permissions_during_a_run(self):
		asking = {
			name_of(p)
			for p in sources()
			if "ignore_permissions" in p.read_text() and name_of(p).startswith(("ai", "api"))
		}
		self.assertEqual({name for name in asking if not name.startswith("ai.records")}, set())


class TestNamesOfFrappe(unittest.TestCase):
	def test_every_name_the_app_uses_is_on_the_list_and_no_other(self):
		listed = set(NAMES.read_text().split())
		used = {name for path in sources() for name in frappe_names(path)}
		self.assertEqual(used - listed, set(), f"new: add to {NAMES.name}, with a contract test")
		self.assertEqual(listed - used, set(), f"no longer used: remove from {NAMES.name}")


@cache
def sources() -> list[Path]:
	"""The app's own modules: without the embedded home, tests and packs."""
	left_out = {"embedded", "tests", "ui", "public", "node_modules"}
	return [
		p
		for p in sorted(HUF.rglob("*.py"))
		if not left_out & set(p.relative_to(HUF).parts) and not p.name.startswith("test_")
	]


def name_of(path: Path) -> str:
	return ".".join(path.relative_to(HUF).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports(path: Path) -> set[str]:
	"""Dotted names a module imports, wherever in it; `from a import b` counts as a.b where that is a module."""
	found = set()
	for node in ast.walk(ast.parse(path.read_text())):
		if isinstance(node, ast.Import):
			found |= {alias.name for alias in node.names}
		elif isinstance(node, ast.ImportFrom) and node.module:
			found |= {deepest(f"{node.module}.{alias.name}", node.module) for alias in node.names}
	return found


def deepest(name: str, module: str) -> str:
	path = HUF.parent / Path(*name.split("."))
	return name if path.is_dir() or path.with_suffix(".py").exists() else module


@cache
def app_imports() -> dict[str, set[str]]:
	return {
		name_of(path): {name.removeprefix("huf.") for name in imports(path) if name.startswith("huf.")}
		for path in sources()
	}


def place(module: str) -> int | None:
	for number, (_, prefixes) in enumerate(COLUMNS):
		if any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes):
			return number
	return None


def frappe_names(path: Path) -> set[str]:
	"""Names below frappe a module uses: attributes as written, and what it imports."""
	tree, found = ast.parse(path.read_text()), set()
	for node in ast.walk(tree):
		if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "frappe":
			found |= {f"{node.module}.{alias.name}" for alias in node.names}
		elif isinstance(node, ast.Attribute) and (name := dotted(node)).startswith("frappe."):
			found.add(name)
	# `frappe.db.sql` is one use, not also one of `frappe.db`.
	return {name for name in found if not any(other.startswith(f"{name}.") for other in found)}


def dotted(node: ast.AST) -> str:
	if isinstance(node, ast.Attribute):
		return f"{dotted(node.value)}.{node.attr}"
	return node.id if isinstance(node, ast.Name) else ""
