"""Expressions from people, evaluated by RestrictedPython: no attributes with underscores, no import, no open."""

import datetime

from frappe.types import _dict

ALLOWED = dict(
	_dict=_dict,
	date=datetime.date,
	datetime=datetime.datetime,
	time=datetime.time,
	timedelta=datetime.timedelta,
	dict=dict,
	int=int,
	float=float,
	long=int,
	round=round,
	list=list,
	len=len,
	max=max,
	min=min,
	sum=sum,
	any=any,
	all=all,
	sorted=sorted,
	str=str,
	bool=bool,
	abs=abs,
)
UNSAFE = (
	"format",
	"format_map",
	"mro",
	"f_globals",
	"gi_frame",
	"cr_frame",
	"tb_frame",
	"gi_code",
	"cr_code",
)


def safe_eval(code: str, eval_globals: dict | None = None, eval_locals: dict | None = None):
	"""The value of an expression.  Raises SyntaxError for what is not allowed, NameError for unknown names."""
	from RestrictedPython import compile_restricted_eval

	compiled = compile_restricted_eval(code.strip())
	if compiled.errors:
		raise SyntaxError(compiled.errors)
	names = {**ALLOWED, **safe_utils(), **(eval_globals or {}), **guards()}
	return eval(compiled.code, names, eval_locals)


def safe_utils() -> dict:
	from frappe.utils import data

	return {
		name: getattr(data, name)
		for name in ("cint", "flt", "cstr", "getdate", "nowdate", "today", "now_datetime")
	}


def guards() -> dict:
	from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
	from RestrictedPython.Guards import safe_builtins

	return {
		"__builtins__": {**safe_builtins, **ALLOWED},
		"_getattr_": guarded_getattr,
		"_getitem_": default_guarded_getitem,
		"_getiter_": default_guarded_getiter,
	}


def guarded_getattr(value, name, default=None):
	if name.startswith("_") or name in UNSAFE:
		raise SyntaxError(f"{name} is not allowed here")
	return getattr(value, name, default)
