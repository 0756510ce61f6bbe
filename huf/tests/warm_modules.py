"""Imports what servers and workers load on first use, in the process that `forks` forks them from."""

import asyncio
import gc
import importlib
import os
import pkgutil
from contextlib import suppress
from importlib.util import find_spec

NAMES = """
huf.ai.agents.tool_factory huf.ai.mcp.server.http huf.ai.runs.entry huf.ai.runs.queue huf.ai.undo.undo huf.install
jsonschema
"""
EMBEDDED = """
frappe.app frappe.core.doctype.file.file frappe.core.doctype.report.report frappe.core.doctype.user.user
frappe.desk.doctype.note.note frappe.desk.doctype.todo.todo frappe.email.queue frappe.model.delete_doc
frappe.password_reset frappe.utils.job_worker frappe.utils.scheduler gunicorn.app.base huf.embedded.cli
huf.embedded.http_worker huf.embedded.loader huf.embedded.mail_watcher huf.embedded.realtime_server huf.www.huf
"""


def load_all() -> None:
	os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
	names = NAMES.split()
	if not find_spec("frappe"):
		import huf.embedded

		huf.embedded.install()
		names += EMBEDDED.split()
	for name in names:
		importlib.import_module(name)
	for package in ("huf.api", "huf.huf.doctype"):
		for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
			# Some need an optional library, such as a2a-sdk, which is not on every bench.
			if ".test_" not in module.name:
				with suppress(ModuleNotFoundError):
					importlib.import_module(module.name)
	importlib.import_module("huf.ai.receipts.language").verb_patterns()
	asyncio.run(importlib.import_module("huf.ai.providers.litellm").warm_up())
	# What is frozen is not copied into each process when that collects garbage.
	gc.freeze()


load_all()
