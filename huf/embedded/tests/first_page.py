"""Load time and size of the first page, a new chat, for its test and its benchmark."""

import gzip
from pathlib import Path

import huf

ADDRESS = "/huf/chat?agent=Office%20Assistant"
IS_USABLE = """() => {
	const field = document.querySelector("[data-testid=composer]");
	return field && document.querySelector("[data-testid=starter]") && performance.now();
}"""
LOADED = """() => performance.getEntriesByType("resource")
	.map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])
	.filter(([path]) => path.startsWith("/assets/"))"""
PUBLIC = Path(huf.__file__).parent / "public"


def open_first_page(page) -> float:
	"""Open the page of a signed-in user; returns the milliseconds until it is usable."""
	page.goto(ADDRESS)
	usable = page.wait_for_function(IS_USABLE, polling="raf").json_value()
	page.wait_for_load_state("networkidle")
	return usable


def loaded_bytes(page) -> tuple[int, int]:
	"""Bytes: (JavaScript compressed with gzip, all assets as sent)."""
	loaded = dict(page.evaluate(LOADED))
	return sum(count_gzipped_bytes(path) for path in loaded if path.endswith(".js")), sum(loaded.values())


def count_gzipped_bytes(path: str) -> int:
	return len(gzip.compress((PUBLIC / path.removeprefix("/assets/huf/")).read_bytes(), 6))
