"""Shared by tests of the law office pack: the installed pack, its roles, a lawyer and cases."""

import frappe
from frappe.utils import add_days, today

from huf.ai.core.session import acting_as
from huf.tests.factories import make, make_user, unique
from huf.tests.packs.samples import ShippedPackCase

ROLES = ("ADMIN", "ANWALT", "SACHBEARBEITER", "SEKRETARIAT", "PRAKTIKANT")


class HelenaTestCase(ShippedPackCase):
	"""A lawyer (`user`) with a case (`case`), and a case of someone else (`other`)."""

	name = "helena"

	def setUp(self):
		super().setUp()
		self.user = make_user("Huf User", "ANWALT")
		# Ends in a letter that stemming does not strip.
		self.word = f"{frappe.generate_hash(length=8)}k"
		self.case = self.make_case(anwalt=self.user)
		self.other = self.make_case()
		frappe.db.commit()

	def make_case(self, **values) -> str:
		values = {"kurzrubrum": f"Sommer ./. Winter {self.word}", "sachverhalt": "Schimmel im Bad", **values}
		return make("Helena Akte", aktenzeichen=unique("26"), **values).name

	def as_user(self, function, *args, user: str | None = None, **kwargs):
		with acting_as(user or self.user):
			return function(*args, **kwargs)

	def document(self, titel: str, case: str | None = None, **values) -> str:
		return make("Helena Dokument", akte=case or self.case, titel=titel, **values).name

	def deadline(self, days: int, case: str | None = None, **values) -> str:
		values = {"bezeichnung": f"in {days}", "faellig_am": add_days(today(), days), **values}
		return make("Helena Frist", akte=case or self.case, **values).name
