"""Small types of Frappe."""

from frappe.types.frappedict import _dict

__all__ = ["_dict"]
