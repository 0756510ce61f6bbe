"""Reproducible sentences with personal data of fictitious people in four languages, and neutral sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faker import Faker
from stdnum.cz import rc
from stdnum.es import dni
from stdnum.iso7064 import mod_11_10

PEOPLE_PER_LANGUAGE = 25
LOCALES = {"de": "de_DE", "en": "en_GB", "es": "es_ES", "cs": "cs_CZ"}
MONTHS = {
	"de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
	"en": "January February March April May June July August September October November December".split(),
	"es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
	"cs": "ledna února března dubna května června července srpna září října listopadu prosince".split(),
}
TEMPLATES = {
	"de": (
		"{first} {last}, geb. {date}, {street}, {place}, Steuer-ID {tax}, ist unsere Mandantin.",
		"Bitte prüfen Sie {last}s Vertrag; Frau {last} ist am {written} geboren, Versicherungsnummer {insurance}.",
		"Der Bescheid ging an {last}, {first}, wohnhaft {street} in {place} (Geburtsdatum: {date}).",
		"{shout} HAT ANGERUFEN, ihre Steuernummer lautet {tax}, die Sozialversicherungsnummer ist {insurance}.",
		"Heute kam {first} vorbei und brachte die Unterlagen, Anschrift {street}, {place}.",
		"Mit {first} {last} (Versicherungsnummer: {insurance}) vereinbart: Rückruf wegen {tax}.",
	),
	"en": (
		"{first} {last}, born {date}, lives at {street}, {place}, and has NI number {insurance}.",
		"Please check {last}'s contract; {last}, {first} was born on {written}, tax number {tax}.",
		"The letter went to {first} {last}, {street}, {place}.",
		"{shout} called again about the claim, date of birth {date}, insurance number {insurance}.",
		"I spoke with {first} this morning; {first}'s tax number is {tax}.",
		"Mr {last} asked us to update insurance number: {insurance} and the address {street}, {place}.",
	),
	"es": (
		"{first} {last}, nacida el {written}, vive en {street}, {place}, con NIF {tax}.",
		"Revise el contrato de {last}; {first} nació el {date} y su póliza es {insurance}.",
		"La carta se envió a {last}, {first}, {street}, {place}.",
		"{shout} LLAMÓ por la reclamación, fecha de nacimiento: {date}, NIF: {tax}.",
		"Hablé con {first} esta mañana; número de la seguridad social {insurance}.",
		"La señora {last} pide actualizar el NIF {tax} y la dirección {street}, {place}.",
	),
	"cs": (
		"{first} {last}, nar. {date}, bytem {street}, {place}, rodné číslo {tax}, je naše klientka.",
		"Psali jsme {dative}; datum narození {written}, číslo pojištěnce {insurance}.",
		"Smlouva s {instrumental} je podepsána, adresa je {street}, {place}.",
		"{shout} volala kvůli žádosti, narozena {date}, rodné číslo {tax}.",
		"Včera přišla {first} a přinesla doklady k pojištění {insurance}.",
		"Bez {genitive} to nepůjde, číslo pojistky {insurance}, rodné číslo {tax}.",
	),
}
CASES = ("genitive", "dative", "instrumental")
CZECH_PEOPLE = tuple(
	each.split("|")
	for each in (
		"Jan Novák|Jana Nováka|Janu Novákovi|Janem Novákem",
		"Eva Svobodová|Evy Svobodové|Evě Svobodové|Evou Svobodovou",
		"Pavel Dvořák|Pavla Dvořáka|Pavlu Dvořákovi|Pavlem Dvořákem",
		"Lenka Procházková|Lenky Procházkové|Lence Procházkové|Lenkou Procházkovou",
		"Tomáš Veselý|Tomáše Veselého|Tomáši Veselému|Tomášem Veselým",
		"Jiří Němec|Jiřího Němce|Jiřímu Němci|Jiřím Němcem",
		"Marie Horáková|Marie Horákové|Marii Horákové|Marií Horákovou",
		"Marek Hájek|Marka Hájka|Markovi Hájkovi|Markem Hájkem",
		"Petr Procházka|Petra Procházky|Petrovi Procházkovi|Petrem Procházkou",
		"Olga Pokorná|Olgy Pokorné|Olze Pokorné|Olgou Pokornou",
		"Jaroslav Kučera|Jaroslava Kučery|Jaroslavu Kučerovi|Jaroslavem Kučerou",
		"Hana Černá|Hany Černé|Haně Černé|Hanou Černou",
		"Ondřej Havelka|Ondřeje Havelky|Ondřeji Havelkovi|Ondřejem Havelkou",
	)
)


@dataclass(frozen=True)
class Person:
	language: str
	first: str
	last: str
	born: tuple[int, int, int]
	street: str
	place: str
	tax: str
	insurance: str
	cases: dict[str, str] = field(default_factory=dict)

	def as_record(self) -> dict:
		"""Field values of a record; numbers without separators."""
		year, month, day = self.born
		return {
			"full_name": f"{self.first} {self.last}",
			"born_on": f"{year}-{month:02}-{day:02}",
			"address": f"{self.street}\n{self.place}",
			"tax_number": re.sub(r"\W", "", self.tax),
			"insurance_number": re.sub(r"\W", "", self.insurance),
		}

	def fill(self, template: str) -> str:
		year, month, day = self.born
		by_language = {"en": f"{day:02}/{month:02}/{year}", "cs": f"{day}. {month}. {year}"}
		name, between = MONTHS[self.language][month - 1], " de " if self.language == "es" else " "
		dot = "." if self.language in ("de", "cs") else ""
		return template.format(
			first=self.first,
			last=self.last,
			shout=f"{self.first} {self.last}".upper(),
			date=by_language.get(self.language, f"{day:02}.{month:02}.{year}"),
			written=f"{day}{dot}{between}{name}{between}{year}",
			street=self.street,
			place=self.place,
			tax=self.tax,
			insurance=self.insurance,
			**self.cases,
		)

	def find_secrets(self, text: str) -> set[str]:
		"""Words of a text that must be masked: names in any form, street, city, numbers, year of birth."""
		names = re.findall(r"\w{3,}", " ".join([self.first, self.last, *self.cases.values()]))
		places = re.findall(r"\w{4,}", f"{self.street} {self.place}")
		numbers = re.findall(r"\w{3,}", f"{self.tax} {self.insurance}")
		forms = {*names, *map(str.upper, names), *(f"{each}s" for each in names), *places, *numbers}
		return {*forms, str(self.born[0])} & set(re.findall(r"\w+", text))


def make_people() -> list[Person]:
	"""People of each language, the same in every test."""
	return [person for language in LOCALES for person in make_people_of(language)]


def make_people_of(language: str) -> Iterator[Person]:
	fake = Faker(LOCALES[language])
	fake.seed_instance(4)
	for number in range(PEOPLE_PER_LANGUAGE):
		forms = CZECH_PEOPLE[number % len(CZECH_PEOPLE)]
		is_czech = language == "cs"
		first, last = forms[0].split() if is_czech else (fake.first_name(), fake.last_name())
		born = fake.date_of_birth(minimum_age=18, maximum_age=90)
		street = fake.street_address().replace("\n", ", ")
		place = (
			fake.city() + " " + fake.postcode() if language == "en" else f"{fake.postcode()} {fake.city()}"
		)
		yield Person(
			*(language, first, last, (born.year, born.month, born.day), street, place),
			*NUMBERS[language](fake, born),
			dict(zip(CASES, forms[1:], strict=True)) if is_czech else {},
		)


def german_numbers(fake: Faker, born) -> tuple[str, str]:
	digits = "".join(fake.random_sample("123456789", 9))
	tax = digits + digits[0] + mod_11_10.calc_check_digit(digits + digits[0])
	insurance = f"{fake.random_int(10, 89)} {born:%d%m%y} {fake.random_uppercase_letter()} {fake.random_int(100, 999)}"
	return f"{tax[:2]} {tax[2:5]} {tax[5:8]} {tax[8:]}", insurance


def british_numbers(fake: Faker, born) -> tuple[str, str]:
	return fake.numerify("#####!####").replace("!", "3"), fake.bothify("?? ## ## ## ", letters="ABCEGH") + "C"


def spanish_numbers(fake: Faker, born) -> tuple[str, str]:
	number = fake.numerify("%#######")
	return number + dni.calc_check_digit(number), fake.numerify("%#/########/##")


def czech_numbers(fake: Faker, born) -> tuple[str, str]:
	for number in range(1000, 9999):
		text = f"{born:%y%m%d}/{number}"
		if rc.is_valid(text):
			return text, fake.numerify("%#########")
	raise AssertionError("no such number")


NUMBERS = {"de": german_numbers, "en": british_numbers, "es": spanish_numbers, "cs": czech_numbers}


def make_sentences() -> list[tuple[Person, str]]:
	"""300 sentences, each with the person whose data are in it."""
	return [
		(person, person.fill(TEMPLATES[person.language][(number + each) % len(TEMPLATES[person.language])]))
		for number, person in enumerate(make_people())
		for each in range(3)
	]


def read_neutral_sentences() -> list[str]:
	"""1,000 sentences in four languages from this project's documents and translations."""
	app = Path(__file__).parents[1]
	texts = [path.read_text() for path in sorted((app.parent / "docs").glob("*.md"))]
	english = [each.strip() for text in texts for each in re.split(r"(?<=[.:])\s+", text)]
	sentences = [each for each in english if 40 < len(each) < 400][:400]
	for language in ("de", "es", "cs"):
		lines = (app / "translations" / f"{language}.csv").read_text().splitlines()
		long = [each.partition(",")[2] for each in lines if len(each) > 80]
		sentences += long[:200]
	return sentences
