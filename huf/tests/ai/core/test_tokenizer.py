"""How words are folded and queries are read."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from huf.ai.core.tokenizer import MAX_TERMS, Term, fold_text, read_query, split_words


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
			[
				Term(("kundigung",)),
				Term(("14", "tage"), is_quoted=True),
				Term(("frist",), is_prefix=True),
				Term(("e", "mail")),
			],
		)

	def test_a_beginning_of_one_letter_is_a_word(self):
		self.assertEqual(read_query("a*"), [Term(("a",))])

	@given(st.text(max_size=2000))
	def test_nothing_that_is_typed_gets_into_a_query_but_letters_and_digits(self, text):
		terms = read_query(text)
		self.assertLessEqual(len(terms), MAX_TERMS)
		for term in terms:
			self.assertTrue(term.words and all(word.isalnum() for word in term.words))

	def test_a_term_knows_its_spelling_and_how_often_it_is_said(self):
		first, second = read_query("Müller Dach mueller")
		self.assertEqual((first.spelling, first.count, second.count), (("mueller",), 2, 1))
