"""Draft, Submitted, Cancelled."""


class DocStatus(int):
	def is_submitted(self) -> bool:
		return self == 1

	def is_cancelled(self) -> bool:
		return self == 2

	@classmethod
	def submitted(cls) -> "DocStatus":
		return cls(1)

	@classmethod
	def cancelled(cls) -> "DocStatus":
		return cls(2)
