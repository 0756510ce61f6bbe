"""Expressions from people, evaluated by RestrictedPython: no attributes with underscores, no import, no
open.
"""

import ast
import types
import unicodedata

NOT_GIVEN = object()

UNSAFE = frozenset(
	"""gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_origin cr_await ag_code ag_frame tb_frame tb_next
	format format_map f_back f_builtins f_code f_globals f_locals f_trace""".split()
)
"""Attributes that allow escaping the sandbox."""

ALLOWED = {"int": int, "float": float, "long": int, "round": round}
INNARDS = (types.ModuleType, types.CodeType, types.TracebackType, types.FrameType)


def safe_eval(code: str, eval_globals: dict | None = None, eval_locals: dict | None = None):
	"""The value of an expression that may use int, float, round and the given names.

	Raises SyntaxError for forbidden constructs, NameError and AttributeError for missing names.
	"""
	from RestrictedPython import compile_restricted

	code = unicodedata.normalize("NFKC", code)
	for node in ast.walk(ast.parse(code, mode="eval")):
		if isinstance(node, ast.NamedExpr):
			raise SyntaxError(f"Operation not allowed: line {node.lineno} column {node.col_offset}")
	names = {**(eval_globals or {}), "__builtins__": {}, **ALLOWED, **guards()}
	return eval(compile_restricted(code, filename="<safe_eval>", mode="eval"), names, eval_locals)  # noqa: S307 (compiled by RestrictedPython)


def guards() -> dict:
	from RestrictedPython.Guards import guarded_iter_unpack_sequence

	return {
		"_getattr_": guarded_getattr,
		"_getitem_": guarded_getitem,
		"_getiter_": iter,
		"_iter_unpack_sequence_": guarded_iter_unpack_sequence,
	}


def guarded_getattr(value, name, default=NOT_GIVEN):
	if name in UNSAFE:
		raise SyntaxError(f"{name} is an unsafe attribute")
	if isinstance(value, INNARDS):
		raise SyntaxError(f"Reading {value} attributes is not allowed")
	if name.startswith("_"):
		raise AttributeError(f'"{name}" is an invalid attribute name because it starts with "_"')
	return getattr(value, name) if default is NOT_GIVEN else getattr(value, name, default)


def guarded_getitem(value, key):
	if isinstance(key, str) and key.startswith("_"):
		raise SyntaxError("Key starts with _")
	return value[key]
