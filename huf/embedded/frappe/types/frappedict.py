"""A dict whose keys are also attributes."""


class _dict(dict):
	"""A dict whose keys are attributes too. Missing ones are None."""

	__slots__ = ()
	__getattr__ = dict.get
	__setattr__ = dict.__setitem__
	__delattr__ = dict.__delitem__
	__setstate__ = dict.update

	def __getstate__(self):
		return self

	def update(self, *args, **kwargs):
		"""Like dict.update, but returns the dict itself."""
		super().update(*args, **kwargs)
		return self

	def copy(self):
		return _dict(self)
