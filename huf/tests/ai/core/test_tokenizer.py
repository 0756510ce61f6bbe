"""Words are normalized, and search queries are parsed into terms."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from huf.ai.core.tokenizer import MAX_TERMS, Term, fold_text, read_query, split_words


class TestWords(unittest.TestCase):
	def test_spellings_with_umlauts_accents_and_case_fold_to_one_term(self):
		for spellings in (
			("Müller", "Mueller", "MÜLLER", "muller"),
			("Straße", "STRASSE"),
			("Příliš žluťoučký", "prilis zlutoucky"),
			("naïve", "NAIVE"),
			("Größe", "Groesse"),
		):
			self.assertEqual(len({fold_text(each) for each in spellings}), 1, spellings)

	def test_ue_that_is_no_umlaut_is_kept(self):
		self.assertEqual(split_words("quelle"), ["quelle"])

	def test_query_is_parsed_into_words_phrases_and_prefixes(self):
		self.assertEqual(
			read_query('Kündigung "14 Tage" Frist* E-Mail'),
			[
				Term(("kundigung",)),
				Term(("14", "tage"), is_quoted=True),
				Term(("frist",), is_prefix=True),
				Term(("e", "mail")),
			],
		)

	def test_one_letter_prefix_is_treated_as_a_word(self):
		self.assertEqual(read_query("a*"), [Term(("a",))])

	@given(st.text(max_size=2000))
	def test_query_terms_contain_only_letters_and_digits(self, text):
		terms = read_query(text)
		self.assertLessEqual(len(terms), MAX_TERMS)
		for term in terms:
			self.assertTrue(term.words and all(word.isalnum() for word in term.words))

	def test_repeated_query_words_are_counted_with_their_spelling(self):
		first, second = read_query("Müller Dach mueller")
		self.assertEqual((first.spelling, first.count, second.count), (("mueller",), 2, 1))
