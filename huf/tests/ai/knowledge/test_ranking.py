"""Words are stemmed, and search results are ranked."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from huf.ai.core.tokenizer import split_spelled_words
from huf.ai.knowledge.ranking import Passage, count_terms, find_places, fuse_rankings, score_passages
from huf.ai.knowledge.terms import (
	build_terms,
	count_possible_terms,
	detect_stemming_language,
	stem_in_all_languages,
	stem_text,
)
from huf.tests.retrieval import read_our_collection


def stem(text: str) -> str:
	return " ".join(stem_text(text.casefold().split()))


def score(query: str, *passages: tuple[str, str]) -> list[float]:
	candidates = [Passage(title, stem(f"{title} {text}"), text) for title, text in passages]
	return score_passages(build_terms(query, str), candidates)


class TestStems(unittest.TestCase):
	def test_inflected_forms_of_a_word_share_a_stem_in_four_languages(self):
		for text, query in (
			("the landlords are returning what was deposited", "landlord returned deposits"),
			("die häuser und die kündigungen der mieterin", "haus kündigung haeuser kundigung mieter"),
			("las facturas y las informaciones de los alquileres", "factura información informacion"),
			("o fakturách a smlouvách se všemi nájemci", "faktura smlouva nájemce fakturam smlouvam"),
		):
			stems = set(stem(text).split())
			for word in query.split():
				self.assertTrue(stems & stem_in_all_languages(word), (word, stems))

	def test_a_short_text_in_an_unknown_language_has_the_stems_of_all(self):
		self.assertIsNone(detect_stemming_language(["dach", "reparaturen"]))
		self.assertIn("reparatur", stem("dach reparaturen").split())

	def test_stop_words_are_dropped_if_other_words_remain(self):
		words = [each.term.words[0] for each in build_terms("Who has to pay for the roof?", str)]
		self.assertEqual(words, ["pay", "roof"])
		self.assertEqual(len(build_terms("to be or not to be", str)), 4)
		self.assertEqual(len(build_terms('"to be or not"', str)), 1)
		self.assertEqual(len(build_terms("war crimes", str)), 2)

	@given(st.text(max_size=500))
	def test_only_letters_and_digits_get_into_a_query(self, text):
		for term in build_terms(text, str):
			words = [word for phrase in term.stems for word in phrase] + [term.prefix or "x"]
			self.assertTrue(all(word.isalnum() for word in words if word != "_"), words)


class TestPossibleTerms(unittest.TestCase):
	def test_every_text_with_a_term_of_the_query_is_counted(self):
		ours = read_our_collection()
		for query in ours.queries:
			for terms in (build_terms(query, str), build_terms(f'"{query}" {query[:4]}*', str)):
				for text in ours.documents.values():
					self.assert_counted(terms, text)

	@given(st.text(), st.text())
	def test_texts_of_any_characters_are_counted(self, query, text):
		self.assert_counted(build_terms(f"{query} {query}*", str), f"{query} {text}")

	def assert_counted(self, terms, text: str):
		stems = " ".join(stem_text(split_spelled_words(text)))
		passage = Passage("", stems, text)
		found = sum(map(bool, count_terms(terms, passage, find_places(terms))))
		self.assertLessEqual(found, count_possible_terms(terms, text), (terms, text))


class TestWeighing(unittest.TestCase):
	def test_passages_with_more_rare_query_words_rank_first(self):
		scores = score("roof gutter", ("", "roof roof"), ("", "roof and gutter"), ("", "roof of slates"))
		self.assertEqual(max(scores), scores[1])
		self.assertEqual(scores[1], 1.0)

	def test_headings_outrank_text_and_exact_words_outrank_other_forms(self):
		above, below, other = score("invoices", ("Invoices", "x"), ("", "invoices"), ("", "invoice"))
		self.assertGreater(above, below)
		self.assertGreater(below, other)
		self.assertGreater(other, 0)

	def test_words_in_quotes_count_only_beside_one_another(self):
		self.assertEqual(score('"14 days"', ("", "14 days"), ("", "days 14")), [1.0, 0.0])

	def test_a_word_repeated_in_the_query_weighs_more(self):
		twice, once = score("roof gutter roof", ("", "roof"), ("", "gutter"))
		self.assertGreater(twice, once)

	def test_rankings_are_fused_by_rank(self):
		self.assertEqual(list(fuse_rankings("abc", "bca"))[0], "b")
		self.assertEqual(fuse_rankings(), {})
