"""Words for months, numbers and roundings in English, German, Spanish and Czech."""

MONTHS = {
	word: month
	for month, words in enumerate(
		(
			"january jan januar jänner enero ledna",
			"february feb februar febrero února",
			"march mar märz marzo března",
			"april apr abril dubna",
			"may mai mayo května",
			"june jun juni junio června",
			"july jul juli julio července",
			"august aug agosto srpna",
			"september sept sep septiembre setiembre září",
			"october oct oktober octubre října",
			"november nov noviembre listopadu",
			"december dec dezember diciembre prosince",
		),
		1,
	)
	for word in words.split()
}
MONTH = rf"(?:{'|'.join(MONTHS)})\b\.?"
FROM_TWO = (
	"two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
	"eighteen nineteen twenty",
	"zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
	"achtzehn neunzehn zwanzig",
	"dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
	"dieciocho diecinueve veinte",
	"dva tři čtyři pět šest sedm osm devět deset jedenáct dvanáct třináct čtrnáct patnáct šestnáct sedmnáct "
	"osmnáct devatenáct dvacet",
)
FROM_THIRTY = (
	"thirty forty fifty sixty seventy eighty ninety hundred",
	"dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert",
	"treinta cuarenta cincuenta sesenta setenta ochenta noventa cien",
	"třicet čtyřicet padesát šedesát sedmdesát osmdesát devadesát sto",
)
NUMBER_WORDS = {
	**{word: number for words in FROM_TWO for number, word in enumerate(words.split(), 2)},
	**{word: 10 * number for words in FROM_THIRTY for number, word in enumerate(words.split(), 3)},
	**dict.fromkeys(("dozen", "dutzend", "docena", "tucet"), 12),
	"dvě": 2,
}
# Also an English word.
del NUMBER_WORDS["once"]
SCALES = {
	r"k|\s?(?:thousand|tausend|tsd|mil|tis|tisíce?)": 1_000,
	r"\s?(?:millions?|millionen|mio|millón|millones|mili[oó]n[uyů]?)": 1_000_000,
}
"""Words behind a number by which it is multiplied."""
ROUNDINGS = {
	"about|around|roughly|approximately|approx|some|rund|etwa|ungefähr|circa|zirka|ca|unos|unas|aproximadamente"
	"|aprox|alrededor de|cerca de|asi|přibližně|zhruba|kolem|okolo|cca|~|≈": (-0.5, 0.5),
	"almost|nearly|just under|knapp|fast|beinahe|casi|téměř|skoro|bezmála": (-1, 0),
	"more than|over|mehr als|gut|más de|více než|přes": (0, 1),
}
"""Words before a rounded number, with the places of its last digit by which the exact one may differ."""
