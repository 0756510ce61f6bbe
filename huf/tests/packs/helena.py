"""What tests of the law office's pack share: the pack itself, people of each role, and cases."""

import frappe
from frappe.utils import add_days, today

from huf.ai.runs.admission import acting_as
from huf.tests.factories import make, make_user, unique
from huf.tests.packs.samples import ShippedPackCase

ROLES = ("ADMIN", "ANWALT", "SACHBEARBEITER", "SEKRETARIAT", "PRAKTIKANT")


class HelenaTestCase(ShippedPackCase):
	"""A lawyer with a case of their own, and one of somebody else."""

	name = "helena"

	def setUp(self):
		super().setUp()
		self.user = make_user("Huf User", "ANWALT")
		# Without an ending, which a search would take off.
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
