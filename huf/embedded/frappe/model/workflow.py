"""Workflows do not exist on the embedded runtime: no DocType has one, and applying one raises."""

import frappe


def get_workflow_name(doctype: str) -> None:
	return None


def get_transitions(doc, workflow=None, raise_exception=False):
	refuse()


def apply_workflow(doc, action):
	refuse()


def refuse():
	frappe.throw(frappe._("Workflows are not part of embedded mode: use a bench"))
