"""Structural rules, checked by reading the source: import directions, names of frappe, SQL, exceptions."""

import ast
import re
import unittest
from functools import cache
from pathlib import Path

HUF = Path(__file__).resolve().parent.parent
FRAPPE_NAMES = HUF / "embedded" / "frappe_names.txt"

PACKAGES = (
	"api",
	"api.wire",
	"ai.mcp.server",
	"ai.packs",
	"ai.evals",
	"ai.chat",
	"ai.mail",
	"ai.triggers",
	"ai.setup",
	"ai.runs",
	"ai.agents",
	"ai.knowledge",
	"ai.queries",
	"ai.receipts",
	"ai.undo",
	"ai.dry_run",
	"ai.mcp.client",
	"ai.tools",
	"ai.providers",
	"ai.loop",
	"ai.routing",
	"ai.storage",
	"ai.core",
)
"""From top to bottom. A package imports only from itself and from packages below it."""

PURE = ("ai.loop", "ai.routing")
IMPURE = {"frappe", "litellm", "agents", "sqlite3"}

RESERVED = frozenset(
	"""
	all analyse analyze any array asc before between both by call case change char character check column condition
	constraint create cursor default delete desc distinct div double each else exists exit fetch float
	from fulltext grant if in index insert interval into is key keys kill leave like lines load lock
	long loop match mod not null offset or out outer over partition primary procedure purge range read
	reads real references release rename repeat replace require return revoke row_number rows separator
	show some sql starting table terminated then to trigger true undo unique unlock update usage user
	when while window with write
	""".split()
)
"""Words that MariaDB or Postgres accepts as table or column names only in quotes; SQLite accepts some."""
NOT_ON_POSTGRES = re.compile(r"\bifnull\(|\b(?:where|and|or|by|select|set)\s+user\b", re.IGNORECASE)
"""Postgres has no `ifnull`, and reads `user` without quotes as the database's user."""
ALIAS = re.compile(r"`tab[^`]+`\s+(?:as\s+)?([a-z_]+)|\bas\s+([a-z_]+)", re.IGNORECASE)


class TestPackages(unittest.TestCase):
	def test_a_package_imports_only_from_below(self):
		upward = {
			(module, target)
			for module, targets in app_imports().items()
			for target in targets
			if package_of(module) is not None and is_above(target, module)
		}
		self.assertEqual(upward, set())

	def test_every_folder_of_ai_is_in_the_list(self):
		folders = {
			f"ai.{path.name}" for path in (HUF / "ai").iterdir() if path.is_dir() and path.name[0] not in "_."
		}
		listed = {".".join(name.split(".")[:2]) for name in PACKAGES}
		self.assertEqual(folders - listed, set())
		self.assertLessEqual(len(folders), 20)

	def test_the_root_of_ai_holds_at_most_ten_thin_modules(self):
		modules = [path for path in (HUF / "ai").glob("*.py") if path.name != "__init__.py"]
		self.assertLessEqual(len(modules), 10)
		for path in modules:
			body = ast.parse(path.read_text()).body[1:]
			self.assertEqual([n for n in body if not isinstance(n, ast.ImportFrom | ast.Assign)], [], path)

	def test_modules_have_no_import_cycles(self):
		self.assertEqual(find_cycles(app_imports()), [])

	def test_pure_packages_do_not_import_frappe_or_litellm(self):
		for path in sources():
			if name_of(path).startswith(PURE):
				roots = {name.partition(".")[0] for name in imports(path)}
				self.assertEqual(roots & IMPURE, set(), path)

	def test_one_module_imports_litellm(self):
		users = {
			name_of(path) for path in sources() if "litellm" in {n.partition(".")[0] for n in imports(path)}
		}
		self.assertEqual(users, {"ai.providers.litellm_module"})

	def test_the_app_does_not_import_the_embedded_runtime(self):
		users = {
			name_of(path) for path in sources() if any(n.startswith("huf.embedded") for n in imports(path))
		}
		self.assertEqual(users, set())

	def test_only_storage_ignores_permissions(self):
		users = {
			name_of(path)
			for path in sources()
			if re.search(r"ignore_permissions\W*[=:]", path.read_text())
			and name_of(path).startswith(("ai", "api"))
		}
		storing = {name for name in users if name.startswith("ai.storage.") or name.endswith(".store")}
		self.assertEqual(users - storing, set())

	def test_every_list_of_rows_is_ordered(self):
		"""Without `order_by` Frappe sorts by the DocType's own field, and databases differ in ties."""
		unordered = [
			(name_of(path), node.lineno)
			for path in sources()
			for node in ast.walk(ast.parse(path.read_text()))
			if isinstance(node, ast.Call)
			and dotted(node.func) in ("frappe.get_all", "frappe.get_list")
			and not any(keyword.arg in ("order_by", None) for keyword in node.keywords)
		]
		self.assertEqual(unordered, [])

	def test_no_alias_in_a_statement_is_a_reserved_word(self):
		reserved = [
			(name_of(path), node.lineno, word)
			for path in sources()
			for node in ast.walk(ast.parse(path.read_text()))
			if isinstance(node, ast.Constant) and isinstance(node.value, str) and "`tab" in node.value
			for pair in ALIAS.findall(node.value)
			for word in pair
			if word.lower() in RESERVED
		]
		self.assertEqual(reserved, [])

	def test_sql_contains_no_ifnull_or_unquoted_user(self):
		wrong = [
			(name_of(path), node.lineno)
			for path in sources()
			for node in ast.walk(ast.parse(path.read_text()))
			if isinstance(node, ast.Constant) and isinstance(node.value, str)
			if NOT_ON_POSTGRES.search(node.value) and ("`tab" in node.value or "ifnull(" in node.value)
		]
		self.assertEqual(wrong, [])

	def test_every_broad_except_has_a_reason_in_a_comment(self):
		found = [(path, line) for path in product_sources() for line in broad_handlers(path.read_text())]
		silent = [(name_of(path), line) for path, line in found if len(reason_of(line).split()) < 3]
		self.assertGreater(len(found), 30)
		self.assertEqual(silent, [])

	def test_broad_handlers_finds_every_form_of_broad_except(self):
		for clause in (
			"except Exception",
			"except:",
			"except (OSError, Exception) as error",
			"except BaseException",
		):
			text = f"try:\n\tf()\n{clause.removesuffix(':')}:  # noqa: BLE001\n\tpass\n"
			(line,) = broad_handlers(text)
			self.assertEqual(reason_of(line), "", line)
		self.assertEqual(broad_handlers("try:\n\tf()\nexcept OSError:\n\tpass\n"), [])

	def test_names_of_public_functions_and_classes_are_unique(self):
		"""Except endpoints, named like what they expose, and `run`, which a provider's module must have."""
		modules: dict[str, list[str]] = {}
		for path in product_sources():
			if path.relative_to(HUF).parts[0] in ("ai", "api"):
				for name in own_names(path) - {"run"}:
					modules.setdefault(name, []).append(name_of(path))
		self.assertGreater(len(modules), 1000)
		self.assertEqual({name: paths for name, paths in modules.items() if len(paths) > 1}, {})

	def test_core_modules_mention_no_pack(self):
		names = [path.name for path in (HUF / "packs").iterdir() if (path / "pack.yaml").is_file()]
		self.assertTrue(names)
		mention = re.compile("|".join(name.replace("_", "[ _]?") for name in names), re.IGNORECASE)
		core = [path for path in sources() if HUF / "packs" not in path.parents]
		self.assertEqual([path for path in core if mention.search(path.read_text())], [])

	def test_no_test_file_has_the_name_that_frappes_test_runner_leaves_out(self):
		self.assertEqual([*(HUF / "tests").rglob("test_runner.py")], [])


class TestFrappeNames(unittest.TestCase):
	def test_frappe_names_txt_lists_exactly_the_used_names(self):
		listed = set(FRAPPE_NAMES.read_text().split())
		used = {name for path in sources() for name in frappe_names(path)}
		self.assertEqual(used - listed, set(), f"new: add to {FRAPPE_NAMES.name}, with a contract test")
		self.assertEqual(listed - used, set(), f"no longer used: remove from {FRAPPE_NAMES.name}")


@cache
def broad_handlers(text: str) -> list[str]:
	"""The lines of handlers that catch any exception."""
	lines = text.splitlines()
	return [
		lines[node.lineno - 1]
		for node in ast.walk(ast.parse(text))
		if isinstance(node, ast.ExceptHandler) and (node.type is None or catches_all(node.type))
	]


def catches_all(caught: ast.expr) -> bool:
	names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
	return any(isinstance(name, ast.Name) and name.id in ("Exception", "BaseException") for name in names)


def reason_of(line: str) -> str:
	"""The comment of a line, without `noqa` rules."""
	return re.sub(r"noqa: [A-Z0-9, ]+", "", line.partition("#")[2]).strip()


def own_names(path: Path) -> set[str]:
	"""Public functions and classes that a module defines, without endpoints."""
	kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
	return {
		node.name
		for node in ast.parse(path.read_text()).body
		if isinstance(node, kinds)
		and not node.name.startswith("_")
		and not any("whitelist" in ast.unparse(each) for each in node.decorator_list)
	}


def sources() -> list[Path]:
	"""The app's own modules: without the embedded runtime, tests and packs."""
	left_out = {"embedded", "tests", "ui", "public", "node_modules"}
	return [
		p
		for p in sorted(HUF.rglob("*.py"))
		if not left_out & set(p.relative_to(HUF).parts) and not p.name.startswith("test_")
	]


def product_sources() -> list[Path]:
	"""The app's own modules and those of the embedded runtime."""
	embedded = [
		p
		for p in sorted((HUF / "embedded").rglob("*.py"))
		if not {"tests", "fixtures"} & set(p.relative_to(HUF).parts)
	]
	return [*sources(), *embedded]


def name_of(path: Path) -> str:
	return ".".join(path.relative_to(HUF).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports(path: Path) -> set[str]:
	"""Dotted names that a module imports, also in functions; `from a import b` is a.b if that is a module."""
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


def package_of(module: str) -> int | None:
	"""The index in PACKAGES of the innermost package of a module; None if it is in none of them."""
	places = [i for i, package in enumerate(PACKAGES) if f"{module}.".startswith(f"{package}.")]
	return max(places, key=lambda place: len(PACKAGES[place]), default=None)


def is_above(target: str, module: str) -> bool:
	"""Whether `target` is above `module`; public modules in the root of `ai` are above every package."""
	place = package_of(target)
	if place is None:
		return target.startswith("ai.")
	return place < package_of(module)


def find_cycles(graph: dict[str, set[str]]) -> list[list[str]]:
	"""One cycle for each group of files that import one another."""
	cycles, finished = [], set()

	def visit(module: str, trail: list[str]) -> None:
		if module in trail:
			cycles.append(trail[trail.index(module) :])
		elif module not in finished:
			for target in sorted(graph.get(module, ())):
				visit(target, [*trail, module])
			finished.add(module)

	for module in graph:
		visit(module, [])
	return cycles


def frappe_names(path: Path) -> set[str]:
	"""Names in frappe that a module uses: attributes as written, and imports."""
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
