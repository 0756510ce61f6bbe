"""Imports what a server loads until its first answers, and LiteLLM, in the process that servers are forked from."""

import asyncio
import importlib
import pkgutil

import huf.embedded

NAMES = """
frappe.app frappe.core.doctype.user.user frappe.core.doctype.report.report frappe.email.queue
frappe.model.delete_doc frappe.password_reset frappe.utils.job_worker frappe.utils.scheduler gunicorn.app.base
huf.ai.runs.entry huf.embedded.cli huf.embedded.http_worker huf.embedded.loader huf.embedded.mail_watcher
huf.embedded.realtime_server huf.install huf.www.huf
"""

huf.embedded.install()
for name in NAMES.split():
	importlib.import_module(name)
for module in pkgutil.iter_modules(importlib.import_module("huf.api").__path__, "huf.api."):
	importlib.import_module(module.name)
asyncio.run(importlib.import_module("huf.ai.providers.litellm").warm_up())
