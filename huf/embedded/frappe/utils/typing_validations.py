"""Validates and converts arguments of whitelisted functions by their annotations."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ForwardRef, Union, get_args

from frappe.exceptions import FrappeTypeError
from pydantic import ConfigDict, PydanticUserError, TypeAdapter
from pydantic import ValidationError as PydanticError

LOOSE = {bool: Union[int, bool, float]}  # noqa: UP007 (a type built at run time)
"""Check fields are sent as 0 or 1."""


def validate_argument_types(
	function: Callable, apply_condition: Callable[[], bool] = lambda: True
) -> Callable:
	"""Wrap `function`: while `apply_condition()` holds, "3" becomes 3 for an int and "abc" is
	FrappeTypeError.
	"""
	signature = inspect.signature(function)
	checks = {
		name: _accepted(parameter)
		for name, parameter in signature.parameters.items()
		if _is_checked(parameter)
	}

	@functools.wraps(function)
	def checked(*args, **kwargs):
		if checks and (args or kwargs) and apply_condition():
			args, kwargs = _convert(function, signature, checks, args, kwargs)
		return function(*args, **kwargs)

	return checked


def _is_checked(parameter: inspect.Parameter) -> bool:
	"""Annotations given as text are not resolved, as in Frappe."""
	kinds = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
	annotation = parameter.annotation
	texts = (annotation, *get_args(annotation))
	named = annotation is not parameter.empty and parameter.kind not in kinds
	return named and not any(isinstance(part, (str, ForwardRef)) for part in texts)


@functools.cache
def _adapter_of(annotation: Any) -> TypeAdapter:
	"""Built on first use, because building one costs more than importing a function."""
	try:
		return TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True))
	except PydanticUserError:  # models and dataclasses bring their own configuration
		return TypeAdapter(annotation)


def _accepted(parameter: inspect.Parameter) -> Any:
	"""The type of a parameter's values, to which that of its default belongs."""
	accepted = LOOSE.get(parameter.annotation, parameter.annotation)
	if parameter.default is not parameter.empty:
		accepted = Union[accepted, type(parameter.default)]  # noqa: UP007
	return accepted


def _convert(function, signature, checks, args, kwargs) -> tuple[tuple, dict]:
	try:
		bound = signature.bind(*args, **kwargs)
	except TypeError:
		return args, kwargs  # the call itself raises it, with a better message
	for name, accepted in checks.items():
		if name in bound.arguments:
			value = bound.arguments[name]
			try:
				bound.arguments[name] = _adapter_of(accepted).validate_python(value)
			except PydanticError as error:
				raise _type_error(function, name, signature.parameters[name].annotation, value) from error
	return bound.args, bound.kwargs


def _type_error(function, name: str, annotation, value) -> FrappeTypeError:
	place = f"{function.__module__}.{function.__qualname__}"
	return FrappeTypeError(
		f"Argument '{name}' in '{place}' should be of type '{_type_name(annotation)}' "
		f"but got '{type(value).__name__}' instead."
	)


def _type_name(annotation) -> str:
	if not inspect.isclass(annotation):
		return str(annotation)
	is_builtin = annotation.__module__ == "builtins"
	return annotation.__qualname__ if is_builtin else f"{annotation.__module__}.{annotation.__qualname__}"
