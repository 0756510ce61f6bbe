"""What tests of the law office's pack share: its DocTypes and law on this site, people of each role, and cases."""

import json
from pathlib import Path

import frappe
from frappe.utils import add_days, today

import huf.packs.helena as pack
from huf.ai.admission import acting_as
from huf.tests.base import SiteTestCase
from huf.tests.factories import make, make_user, unique

FOLDER = Path(pack.__file__).parent
ROLES = ("ADMIN", "ANWALT", "SACHBEARBEITER", "SEKRETARIAT", "PRAKTIKANT")
LAW = ("Helena Gesetz", "Helena Urteil", "Helena Muster", "Helena RVG Tabelle", "Helena VV Nummer")


def read_json(name: str) -> list[dict]:
	return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def make_office() -> None:
	"""The pack's roles, DocTypes and law, where they are not there yet; committed."""
	for role in ROLES:
		if not frappe.db.exists("Role", role):
			make("Role", role_name=role)
	for each in read_json("doctypes.json"):
		if not frappe.db.exists("DocType", each["name"]):
			frappe.get_doc(each).insert()
	if not frappe.db.exists("Helena Gesetz", "§ 536 BGB"):
		for each in read_json("records.json"):
			if each["doctype"] in LAW:
				frappe.get_doc(each).insert()
	frappe.db.commit()


class HelenaTestCase(SiteTestCase):
	"""A lawyer with a case of their own, and one of somebody else."""

	def setUp(self):
		super().setUp()
		make_office()
		self.user = make_user("Huf User", "ANWALT")
		self.word = frappe.generate_hash(length=8)
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
