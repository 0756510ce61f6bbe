"""The exceptions of Frappe and the HTTP status each one becomes."""


class ValidationError(Exception):
	http_status_code = 417


class FrappeTypeError(TypeError):
	http_status_code = 417


class AuthenticationError(Exception):
	http_status_code = 401


class PermissionError(Exception):
	http_status_code = 403


class DoesNotExistError(ValidationError):
	http_status_code = 404


class NameError(Exception):
	http_status_code = 409


class DuplicateEntryError(NameError):
	pass


class Redirect(Exception):
	def __init__(self, http_status_code: int = 301):
		super().__init__(http_status_code)
		self.http_status_code = http_status_code


class CSRFTokenError(Exception):
	http_status_code = 400


class InvalidAuthorizationToken(CSRFTokenError):
	pass


class TooManyRequestsError(Exception):
	http_status_code = 429


class QueryDeadlockError(Exception):
	"""SQLite has one writer, so nothing here raises it; MariaDB and Postgres do."""


class QueryTimeoutError(Exception):
	pass


class StorageError(Exception):
	"""The disk or the database is at fault; the message is meant for people."""

	def __init__(self, http_status_code: int, message: str):
		super().__init__(message)
		self.http_status_code = http_status_code


class DataError(ValidationError):
	pass


class MandatoryError(ValidationError):
	pass


class NonNegativeError(ValidationError):
	pass


class CannotChangeConstantError(ValidationError):
	pass


class CharacterLengthExceededError(ValidationError):
	pass


class UpdateAfterSubmitError(ValidationError):
	pass


class LinkValidationError(ValidationError):
	pass


class CancelledLinkError(LinkValidationError):
	pass


class DocstatusTransitionError(ValidationError):
	pass


class TimestampMismatchError(ValidationError):
	pass


class LinkExistsError(ValidationError):
	pass


class InvalidEmailAddressError(ValidationError):
	pass


class InvalidPhoneNumberError(ValidationError):
	pass


class InvalidNameError(ValidationError):
	pass


class UniqueValidationError(ValidationError):
	pass


class AppNotInstalledError(ValidationError):
	pass


class ImplicitCommitError(ValidationError):
	pass
