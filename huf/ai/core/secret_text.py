"""Hides secrets in texts that are shown or sent on."""

import re

HIDDEN = "•••"
KEY_SHAPE = re.compile(r"\b(?:sk|pk|gsk|xai|AIza)[-_][-_A-Za-z0-9*]{8,}|(?<=Bearer )[-._~+/A-Za-z0-9]{8,}=*")
NAMED_SECRET = re.compile(
	r"""(["']?\b(?:password|passwd|api_?key|api_?secret|client_?secret|access_?token|refresh_?token"""
	r"""|private_?key|authorization)["']?\s*[:=]\s*["'])[^"']+""",
	re.IGNORECASE,
)


class SecretText(str):
	"""Text that does not appear where values are shown, as in Frappe's tracebacks, which list variables."""

	def __repr__(self) -> str:
		return repr(HIDDEN)


def mask_secrets(text: str) -> str:
	"""Hide what looks like a key or a password in text that a tool fetched."""
	return KEY_SHAPE.sub(HIDDEN, NAMED_SECRET.sub(rf"\g<1>{HIDDEN}", text))
