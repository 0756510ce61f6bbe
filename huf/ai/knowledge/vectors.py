"""Search by meaning, for sources with an embedding model: vectors of chunks, and those nearest to a query. Off unless chosen.

What is near depends on the chunk and the query alone, never on other documents. Needs numpy; reads only, besides asking
the model, which is sent the texts of its sources when they are indexed and the query when it is searched.
"""

import asyncio
import base64
from collections.abc import Iterable, Iterator, Sequence

import frappe

from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped
from huf.ai.dry_run import isolation
from huf.ai.knowledge.store import read_vectors, stamp_of
from huf.ai.storage.standalone_calls import budgeted_call

AT_ONCE = 64
"""Texts of one call of a model."""
_kept: dict[tuple[str, str], tuple] = {}
"""(site, source): what the source's items said when its vectors were read, the chunks' names, their vectors."""


def is_possible() -> bool:
	try:
		import numpy  # noqa: F401
	except ImportError:
		return False
	return True


def embed(model: str, texts: Sequence[str]) -> list[str]:
	"""Texts as vectors, packed for a row. Raises ModelError, also where a limit has no room. Commits."""
	import numpy

	packed = []
	for start in range(0, len(texts), AT_ONCE):
		for vector in ask_for_vectors(model, list(texts[start : start + AT_ONCE])):
			row = numpy.asarray(vector, dtype="<f4")
			row /= max(float(numpy.linalg.norm(row)), 1e-12)
			packed.append(base64.b64encode(row.tobytes()).decode())
	return packed


def ask_for_vectors(model: str, texts: list[str]) -> list[list[float]]:
	from huf.ai.providers import services

	try:
		with budgeted_call(services.worst_of_embedding(model, texts)) as bill:
			vectors, bill.usage = asyncio.run(services.embed(model, texts))
			return vectors
	except (RunStopped, BudgetReserved) as limit:
		raise ModelError(str(limit)) from None


def near(query: str, sources: Iterable, limit: int) -> Iterator[list[str]]:
	"""Names of the chunks nearest to a query, for each embedding model of these sources; nothing where it cannot be asked.

	No model is waited for while a transaction writes, and none is asked for what is only tried.
	"""
	models: dict[str, list[str]] = {}
	for source in sources:
		if source.embedding_model:
			models.setdefault(source.embedding_model, []).append(source.name)
	if not models or frappe.db.transaction_writes or isolation.is_closed() or not is_possible():
		return
	for model, names in models.items():
		try:
			wanted = unpacked(embed(model, [query]))[0]
		except ModelError as error:
			frappe.log_error("Knowledge was searched by words only", str(error))
			continue
		yield nearest(wanted, names, limit)


def nearest(wanted, sources: Sequence[str], limit: int) -> list[str]:
	scores: dict[str, float] = {}
	for source in sources:
		names, vectors = vectors_of(source)
		if names and vectors.shape[1] == len(wanted):
			scores.update(zip(names, (vectors @ wanted).tolist(), strict=True))
	return sorted(scores, key=scores.get, reverse=True)[:limit]


def vectors_of(source: str) -> tuple[list[str], object]:
	"""Names and vectors of a source's chunks; kept in this process until the source changes."""
	key, stamp = (frappe.local.site, source), stamp_of(source)
	if key not in _kept or _kept[key][0] != stamp:
		rows = read_vectors(source)
		_kept[key] = (stamp, [name for name, _ in rows], unpacked([vector for _, vector in rows]))
	return _kept[key][1:]


def unpacked(packed: Sequence[str]):
	import numpy

	rows = [numpy.frombuffer(base64.b64decode(each), dtype="<f4") for each in packed]
	# Of a source whose model was changed some are still as long as the other's.
	length = len(rows[-1]) if rows else 0
	return numpy.array([row if len(row) == length else numpy.zeros(length) for row in rows], dtype="float32")
