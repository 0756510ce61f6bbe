"""Detects answers that repeat themselves endlessly, as those of small models do. Pure."""

MIN_REPEATED_CHARS, MAX_REPEATED_CHARS = 400, 1_600
"""How much of an answer must repeat: four short periods, or two of the longest."""
MIN_REPETITIONS = 4
MAX_PERIOD_CHARS = 800
CHECK_EVERY_CHARS = 64


class RepetitionWatch:
	"""Reads an answer piece by piece; the result does not depend on where the pieces are cut."""

	def __init__(self):
		self.tail, self.unchecked, self.is_endless = "", 0, False

	def feed(self, text: str) -> None:
		for start in range(0, len(text), CHECK_EVERY_CHARS):
			piece = text[start : start + CHECK_EVERY_CHARS]
			self.tail = (self.tail + piece)[-(MAX_REPEATED_CHARS + MAX_PERIOD_CHARS) :]
			self.unchecked += len(piece)
			if self.unchecked >= CHECK_EVERY_CHARS:
				self.unchecked = 0
				self.is_endless = self.is_endless or is_repetitive(self.tail)


def is_repetitive(text: str) -> bool:
	"""Whether a text ends in the same few hundred characters again and again."""
	for period in range(1, MAX_PERIOD_CHARS + 1):
		length = max(MIN_REPEATED_CHARS, min(MIN_REPETITIONS * period, MAX_REPEATED_CHARS))
		if len(text) >= length + period and text[-length:] == text[-length - period : -period]:
			return True
	return False
