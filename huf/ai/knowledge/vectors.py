"""Semantic search for sources with an embedding model: embeds chunks and finds those nearest to a query.

Off by default and needs numpy. The model receives the texts of its sources when they are indexed, and the
query of each search. Similarity depends on the chunk and the query alone, so it reveals nothing about other
documents.
"""

import base64
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import frappe
from frappe import _

from huf.ai.core.errors import BudgetReserved, ModelError, RunStopped, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.core.grouping import group_pairs
from huf.ai.dry_run import isolation
from huf.ai.knowledge.store import SOURCE, get_vectors_stamp, read_vectors
from huf.ai.storage.rows import in_batches
from huf.ai.storage.standalone_calls import budgeted_call

TEXTS_PER_CALL = 64
CACHED_SOURCES = 32
"""Sources of all sites whose vectors this process keeps in memory."""


def is_available() -> bool:
	try:
		import numpy  # noqa: F401
	except ImportError:
		return False
	return True


def check_text_receiver(doc: Any, models: Sequence[str], *fields: str) -> None:
	"""Refuse a change of fields of an AI Model or AI Provider that decide who receives the texts of
	documents, unless a System Manager makes it.

	`models`: the AI Models whose calls the fields concern.
	"""
	is_changed = doc.get_doc_before_save() and any(map(doc.has_value_changed, fields))
	if not (models and is_changed) or "System Manager" in frappe.get_roles():
		return
	if frappe.db.exists(SOURCE, {"source_type": "DocType", "embedding_model": ["in", models]}):
		refuse_text_receiver()


def refuse_text_receiver() -> None:
	frappe.throw(
		_(
			"The provider of an embedding model receives the texts of all documents. Only a System "
			"Manager can choose one for them."
		),
		frappe.PermissionError,
	)


def embed_texts(model: str, texts: Sequence[str]) -> list[str]:
	"""Normalized vectors of texts as base64 of little-endian float32.

	Commits. Raises ModelError, including when a budget does not allow the call.
	"""
	packed: list[str] = []
	for some in in_batches(texts, TEXTS_PER_CALL):
		rows = normalize_vectors(model, request_vectors(model, some))
		packed += [base64.b64encode(row.tobytes()).decode() for row in rows]
	return packed


def normalize_vectors(model: str, vectors: Sequence[Any]) -> Any:
	"""A matrix of float32. Raises ModelError unless these are vectors of finite numbers and equal length."""
	import numpy

	try:
		with numpy.errstate(over="ignore"):
			rows = numpy.array(vectors, dtype="<f4")
	except (TypeError, ValueError):
		rows = numpy.empty(0)
	if rows.ndim != 2 or not rows.size or not numpy.isfinite(rows).all():
		raise ModelError(f"{model} returned something other than vectors of numbers.")
	return rows / numpy.maximum(numpy.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def request_vectors(model: str, texts: list[str]) -> list[list[float]]:
	from huf.ai.providers import services

	try:
		with budgeted_call(services.embedding_worst_case(model, texts)) as used:
			vectors, used.usage = run_coroutine(services.embed(model, texts))
		if len(vectors) != len(texts):
			raise ModelError(f"{model} returned {len(vectors)} vectors for {len(texts)} texts.")
		return vectors
	except (RunStopped, BudgetReserved, UsageError) as limit:  # a budget, or a stop that covers the user
		raise ModelError(str(limit)) from None


def find_nearest(query: str, sources: Iterable, limit: int) -> Iterator[list[str]]:
	"""For each embedding model of these sources, the names of the chunks nearest to a query; a failing model
	is skipped.

	No model is called while a transaction has uncommitted writes, nor in a dry run.
	"""
	models = group_pairs((each.embedding_model, each.name) for each in sources if each.embedding_model)
	if not models or frappe.db.transaction_writes or isolation.is_dry_run() or not is_available():
		return
	for model, names in models.items():
		try:
			vector = unpack_vectors(embed_texts(model, [query]))[0]
		except ModelError as error:
			frappe.log_error("Knowledge was searched by words only", str(error))
			continue
		yield rank_by_similarity(vector, names, limit)


def rank_by_similarity(vector: Any, sources: Sequence[str], limit: int) -> list[str]:
	scores: dict[str, float] = {}
	for source in sources:
		names, vectors = load_vectors(frappe.local.site, source, get_vectors_stamp(source))
		if names and vectors.shape[1] == len(vector):
			scores.update(zip(names, (vectors @ vector).tolist(), strict=True))
	return sorted(scores, key=scores.__getitem__, reverse=True)[:limit]


@lru_cache(maxsize=CACHED_SOURCES)
def load_vectors(site: str, source: str, stamp: tuple) -> tuple[list[str], Any]:
	"""Names and matrix of a source's vectors; cached until `stamp` changes."""
	rows = read_vectors(source)
	return [name for name, _ in rows], unpack_vectors([vector for _, vector in rows])


def unpack_vectors(packed: Sequence[str]) -> Any:
	import numpy

	rows = [numpy.frombuffer(base64.b64decode(each), dtype="<f4") for each in packed]
	# After a change of the model some vectors may still have the length of the former one.
	length = len(rows[-1]) if rows else 0
	return numpy.array([row if len(row) == length else numpy.zeros(length) for row in rows], dtype="float32")
