"""Password strength, as required by Frappe's default policy."""

import frappe

MIN_SCORE = 2
"""On zxcvbn's scale of 0 to 4; about a hundred million guesses."""

MAX_CHARS = 72
"""zxcvbn refuses longer texts; further characters do not weaken a password."""


def check_password_strength(password: str, *personal: str | None):
	"""Raises ValidationError for a password that is easily guessed; `personal` words count as known."""
	from zxcvbn import zxcvbn

	result = zxcvbn(password[:MAX_CHARS], [word for word in personal if word])
	if result["score"] >= MIN_SCORE:
		return
	feedback = result["feedback"]
	advice = " ".join(filter(None, (feedback["warning"], *feedback["suggestions"])))
	frappe.throw(
		frappe._("This password is too easy to guess.") + f" {advice}", title=frappe._("Invalid Password")
	)
