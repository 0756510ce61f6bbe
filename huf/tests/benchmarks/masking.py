"""The cost of masking personal data in ms per 10 kB of text, with up to 5,000 records of known values."""

import random
import statistics
import time

import frappe
from faker import Faker

from huf.ai.providers.masking import Masker
from huf.ai.providers.personal_records import add_value, get_record_values
from huf.ai.providers.record_values import RecordValues
from huf.tests.personal_data import LOCALES, make_sentences, read_neutral_sentences

CHARS = 10_000
ROUNDS = 40
RECORDS = (0, 1000, 5000)


def measure() -> None:
	"""Print the median for texts in which one of ten sentences has personal data."""
	for records in RECORDS:
		values = make_values(records)
		times = [time_once(values, number) for number in range(ROUNDS)]
		milliseconds = statistics.median(times) * 1000
		print(f"{records:6} records {milliseconds:8.2f} ms per 10 kB   (target 5)")
	started = time.thread_time()
	get_record_values()
	print(f"looking whether a record has changed {(time.thread_time() - started) * 1000:8.2f} ms a run")
	frappe.db.rollback()


def make_values(records: int) -> RecordValues:
	values, fakes = RecordValues(), [Faker(locale) for locale in LOCALES.values()]
	for number in range(records):
		fake = fakes[number % len(fakes)]
		add_value(values, "full_name", f"{fake.first_name()} {fake.last_name()}", True)
		add_value(values, "address", fake.address(), True)
		add_value(values, "tax_number", fake.numerify("###########"), True)
	return values


def time_once(values: RecordValues, number: int) -> float:
	rng = random.Random(number)
	personal, neutral = [each for _, each in make_sentences()[:60]], read_neutral_sentences()
	text = ""
	while len(text) < CHARS:
		text += rng.choice(personal if rng.random() < 0.1 else neutral) + "\n"
	masker = Masker((), values)
	started = time.thread_time()
	masker.mask(text[:CHARS])
	return time.thread_time() - started
