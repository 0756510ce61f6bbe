"""Whether a password is hard enough to guess, as Frappe's password policy asks by default."""

import frappe

MIN_SCORE = 2
"""Of zxcvbn's 0 to 4: about a hundred million guesses."""

MAX_CHARS = 128
"""zxcvbn takes long for long texts; what follows does not make a password weaker."""


def check_password_strength(password: str, *personal: str | None):
	"""Raise ValidationError for a password that is easily guessed; `personal` words count as known."""
	from zxcvbn import zxcvbn

	result = zxcvbn(password[:MAX_CHARS], [word for word in personal if word])
	if result["score"] >= MIN_SCORE:
		return
	feedback = result["feedback"]
	advice = " ".join(filter(None, (feedback["warning"], *feedback["suggestions"])))
	frappe.throw(
		frappe._("This password is too easy to guess.") + f" {advice}", title=frappe._("Invalid Password")
	)
