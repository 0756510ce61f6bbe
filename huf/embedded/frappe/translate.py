"""Messages in the user's language, looked up in each app's translations/<language>.csv."""

import csv
from functools import lru_cache
from pathlib import Path

import frappe


def _(msg: str, lang: str | None = None, context: str | None = None) -> str:
	"""The translation, else the message itself."""
	if not hasattr(frappe.local, "lang"):
		return msg
	lang = lang or frappe.local.lang
	if not lang or lang == "en" or not msg:
		return msg
	messages = get_all_translations(lang, tuple(frappe.get_installed_apps()))
	return messages.get(f"{msg}:{context}" if context else None) or messages.get(str(msg).strip()) or msg


@lru_cache(maxsize=64)
def get_all_translations(lang: str, apps: tuple[str, ...]) -> dict[str, str]:
	"""Later apps win; a regional language such as de-AT starts from its parent."""
	messages = get_all_translations(lang.split("-")[0], apps).copy() if "-" in lang else {}
	for app in apps:
		file = Path(frappe.get_app_path(app, "translations", f"{lang}.csv"))
		if file.is_file():
			with file.open(encoding="utf-8", newline="") as lines:
				for source, target, *context in csv.reader(lines):
					messages[f"{source}:{context[0]}" if context and context[0] else source] = target
	return messages


@lru_cache(maxsize=1)
def list_languages() -> frozenset[str]:
	"""Languages into which the texts of frappe are translated, and English."""
	files = Path(frappe.get_app_path("frappe", "translations")).glob("*.csv")
	return frozenset(["en", *(file.stem for file in files)])


def find_browser_language() -> str | None:
	"""The first available language of a guest's Accept-Language header, as on Frappe."""
	tags = frappe.local.request.accept_languages.values()
	wanted = (tag.replace("_", "-").split("-")[0].lower() for tag in tags)
	return next((each for each in wanted if each in list_languages()), None)


def clear_cache():
	get_all_translations.cache_clear()
