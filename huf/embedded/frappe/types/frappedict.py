"""A dict whose keys are also attributes."""


class _dict(dict):
	"""Missing attributes are None, except that names with two leading underscores raise AttributeError."""

	__slots__ = ()
	__setattr__ = dict.__setitem__
	__delattr__ = dict.__delitem__

	def __getattr__(self, key):
		if key.startswith("__"):
			raise AttributeError(key)
		return self.get(key)

	def __setstate__(self, state):
		self.update(state)

	def update(self, *args, **kwargs):
		"""Like dict.update, but returns the dict itself."""
		super().update(*args, **kwargs)
		return self

	def copy(self):
		return _dict(self)
