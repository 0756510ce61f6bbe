"""How words are folded, queries are read, and what was found is weighed."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from huf.ai.core.tokenizer import MAX_TERMS, Term, fold_text, read_query, split_words
from huf.ai.knowledge.ranking import fuse_rankings, score_texts


class TestWords(unittest.TestCase):
	def test_umlauts_accents_case_and_their_spellings_are_one(self):
		for spellings in (
			("Müller", "Mueller", "MÜLLER", "muller"),
			("Straße", "STRASSE"),
			("Příliš žluťoučký", "prilis zlutoucky"),
			("naïve", "NAIVE"),
			("Größe", "Groesse"),
		):
			self.assertEqual(len({fold_text(each) for each in spellings}), 1, spellings)

	def test_what_only_looks_like_an_umlaut_stays(self):
		self.assertEqual(split_words("quelle"), ["quelle"])

	def test_a_query_has_words_phrases_and_beginnings(self):
		self.assertEqual(
			read_query('Kündigung "14 Tage" Frist* E-Mail'),
			[Term(("kundigung",)), Term(("14", "tage")), Term(("frist",), True), Term(("e", "mail"))],
		)

	def test_a_beginning_of_one_letter_is_a_word(self):
		self.assertEqual(read_query("a*"), [Term(("a",))])

	@given(st.text(max_size=2000))
	def test_nothing_that_is_typed_gets_into_a_query_but_letters_and_digits(self, text):
		terms = read_query(text)
		self.assertLessEqual(len(terms), MAX_TERMS)
		for term in terms:
			self.assertTrue(term.words and all(word.isalnum() for word in (*term.words, *term.loose.words)))

	def test_other_forms_of_a_word_begin_like_it(self):
		self.assertEqual(Term(("fristen",)).loose, Term(("frist",), True))
		for kept in (Term(("bgb",)), Term(("12345",)), Term(("a", "b")), Term(("frist",), True)):
			self.assertEqual(kept.loose, kept)


class TestWeighing(unittest.TestCase):
	def test_what_says_more_of_the_rarer_words_comes_first(self):
		texts = [("", "roof roof"), ("", "roof and gutter"), ("", "roof of slates")]
		scores = score_texts(read_query("roof gutter"), texts)
		self.assertEqual(max(scores), scores[1])
		self.assertEqual(scores[1], 1.0)

	def test_a_heading_counts_more_than_a_text_and_an_exact_word_more_than_another_form(self):
		above, below, other = score_texts(
			read_query("invoices"), [("Invoices", "x"), ("", "invoices"), ("", "invoice")]
		)
		self.assertGreater(above, below)
		self.assertGreater(below, other)
		self.assertGreater(other, 0)

	def test_words_in_quotes_count_only_beside_one_another(self):
		self.assertEqual(score_texts(read_query('"14 days"'), [("", "14 days"), ("", "days 14")]), [1.0, 0.0])

	def test_orders_are_fused_by_their_ranks(self):
		self.assertEqual(list(fuse_rankings("abc", "bca"))[0], "b")
		self.assertEqual(fuse_rankings(), {})
