"""Frappe hooks of this pack: who may see a case and what belongs to it."""

_CASE_DOCTYPES = (
	"Helena Akte",
	"Helena Dokument",
	"Helena Frist",
	"Helena Zeiteintrag",
	"Helena Notiz",
	"Helena Hinweis",
)
permission_query_conditions = dict.fromkeys(_CASE_DOCTYPES, "huf.packs.helena.access.list_condition")
huf_personal_data = {"Helena Beteiligter": ["beteiligter", "telefon", "anschrift"]}
has_permission = dict.fromkeys(_CASE_DOCTYPES, "huf.packs.helena.access.has_permission")
