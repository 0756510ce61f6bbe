"""Draft, Submitted, Cancelled."""


class DocStatus(int):
	def is_draft(self) -> bool:
		return self == 0

	def is_submitted(self) -> bool:
		return self == 1

	def is_cancelled(self) -> bool:
		return self == 2

	@classmethod
	def draft(cls) -> "DocStatus":
		return cls(0)

	@classmethod
	def submitted(cls) -> "DocStatus":
		return cls(1)

	@classmethod
	def cancelled(cls) -> "DocStatus":
		return cls(2)
