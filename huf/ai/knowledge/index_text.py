"""Makes the stems by which the site's full-text index finds a text."""

from collections.abc import Iterable, Sequence

from huf.ai.core.tokenizer import split_spelled_words
from huf.ai.knowledge import fulltext, terms

LANGUAGE_WORDS = 2_000
"""Words of a document by which its language is found."""


def make_index_texts(title: str | None, chunks: Sequence) -> list[str]:
	"""The index text of each chunk of a document. Takes seconds for a long one."""
	language = find_language(each.text for each in chunks)
	return [
		make_index_text(language, title, "\n".join(each.fields), each.heading, each.text) for each in chunks
	]


def make_index_text(
	language: str | None, title: str | None, fields: str | None, heading: str | None, text: str
) -> str:
	"""The stems by which a chunk is found.

	The title of a document is left out: not every reader may see that field.
	"""
	texts = [heading, text] if fields else [title, heading, text]
	words = split_spelled_words("\n".join(filter(None, texts)))
	return " ".join(map(fulltext.get_index().encode_word, terms.stem_text(words, language)))


def find_language(texts: Iterable[str]) -> str | None:
	"""The language of a document, by its first words."""
	words: list[str] = []
	for text in texts:
		words += split_spelled_words(text)
		if len(words) > LANGUAGE_WORDS:
			break
	return terms.detect_stemming_language(words[:LANGUAGE_WORDS])
