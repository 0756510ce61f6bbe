"""Runs a block of code as another user."""

from collections.abc import Iterator
from contextlib import contextmanager

import frappe


@contextmanager
def acting_as(user: str) -> Iterator[None]:
	"""Run the block as `user`, with only their permissions."""
	session = frappe.local.session
	before, kept = session.user, (session.sid, session.data, frappe.local.form_dict)
	if user != before:
		frappe.set_user(user)
	try:
		yield
	finally:
		if user != before:
			frappe.set_user(before)
			# `set_user` may replace the session object, and drops values that Frappe needs at the end of the
			# request.
			session = frappe.local.session
			session.sid, session.data, frappe.local.form_dict = kept
