"""User-written templates are rendered, and refused if they need too much time or memory."""

from datetime import datetime

from huf.ai.core.errors import UsageError
from huf.ai.core.expressions import TooMuchWork
from huf.ai.core.templates import render_template
from huf.ai.triggers.conditions import Snapshot
from huf.ai.triggers.prompts import render_prompt
from huf.tests.base import SiteTestCase
from huf.tests.measuring import measure

TEXT = "Urgent: the printer is on fire. " * 100_000
"""3.2 million characters. Searching "r r" in it takes Python several milliseconds."""
DOC = Snapshot({"title": "Fire <1>", "amount": 1250.5, "text": TEXT, "items": [{"qty": 2}, {"qty": 3}]})
ORDINARY = (
	("{{ doc.title }} for {{ user }}", "Fire <1> for ann"),
	(
		"{% for row in doc.items %}{{ loop.index }}/{{ loop.length }}: {{ row.qty }};{% endfor %}",
		"1/2: 2;2/2: 3;",
	),
	("{% for a, b in [(1, 2), (3, 4)] if a > 1 %}{{ a + b }}{% else %}none{% endfor %}", "7"),
	("{{ doc.items | map(attribute='qty') | sum }} {{ [3, 1, 2] | sort | join(', ') }}", "5 1, 2, 3"),
	("{{ doc.text | truncate(30) }}", "Urgent: the printer is on..."),
	("{{ doc.text | replace('fire', 'ice') | length }}", "3100000"),
	(
		"{{ '%s costs %.2f' | format(doc.title, doc.amount) }} {{ doc.amount | round(1) }}",
		"Fire <1> costs 1250.50 1250.5",
	),
	(
		"{% set all = [] %}{% for a in range(3) %}{% set _ = all.append(a) %}{% endfor %}{{ all }}",
		"[0, 1, 2]",
	),
	("{% macro row(a) %}<{{ a }}>{% endmacro %}{{ row(1) }}{{ row('b') }}", "<1><b>"),
	("{% for a in [1, [2, [3]]] recursive %}{{ loop(a) if a is iterable else a }}{% endfor %}", "123"),
	("{% set a %}{{ doc.title | upper }}{% endset %}{{ a ~ '!' }}", "FIRE <1>!"),
	("{{ {'a': [1]} | tojson }} {{ {'b': 2} | json | length }}", '{"a": [1]} 11'),
	("{{ missing }}{{ missing | default('none') }}{{ doc.missing or '-' }}", "none-"),
	("{{ '<b>bold</b> text' | striptags }} {{ doc.title | e }}", "bold text Fire &lt;1&gt;"),
	("{% set n = namespace(a=0) %}{% for i in [1, 2] %}{% set n.a = n.a + i %}{% endfor %}{{ n.a }}", "3"),
)
BOMBS = (
	"{% for a in range(10**9) %}{% endfor %}",
	"{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}",
	"{% for a in range(99999) recursive %}{{ loop(range(99999)) }}{% endfor %}",
	"{{ 'x' * 10**10 }}",
	"{{ 9**(9**9) }}",
	"{{ '%1000000000d' % 1 }}{{ '%1000000000d' | format(1) }}",
	"{{ 'x' | center(10**9) }}",
	"{{ doc.text | indent(10**6) }}",
	"{{ ('\n' * 1000000) | indent(1000, true) }}",
	"{{ doc.text | replace('', 'x' * 1000) }}",
	"{{ doc.text | join('x' * 1000) }}",
	"{{ [1] | batch(10**9, 'x') | list }}",
	"{{ [1] | map('center', 10**9) | list }}",
	"{{ doc.text | list | map('upper') | list | length }}{{ doc.text | map('upper') | list | length }}",
	"{{ [1] | tojson(indent=10**9) }}",
	"{{ doc.text | wordwrap(1, wrapstring='x' * 100000) }}",
	"{{ '<!---->' * 1000000 | striptags }}{{ ('<' * 1000000) | striptags | striptags }}{{ 1 / 0 }}",
	"{{ doc.text | urlize }}",
	"{{ ('a-b ' * 2400000) | title | length }}",
	"{{ (doc.text * 3) | sort | length }}{{ (doc.text * 3) | unique | list }}",
	"{{ (doc.text * 3) | max }}{{ (doc.text * 3) | min }}{{ (doc.text * 3) | reject | list }}",
	"{{ ([0] * 900000) | sort | length }}",
	"{{ [doc] | pprint }}",
	"{{ lipsum(10**6) }}",
	"{{ '{:>1000000000}'.format(1) }}",
	"{% set a = 'x' * 1000 %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
	"{% set a = 'x' * 1000 %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
	"{% set a = [1] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}",
	"{% set a = [1] %}" + "{% set _ = a.extend(a) %}" * 40 + "{{ a }}",
	"{% set a = 'x' * 1000 %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40 + "{{ a }}",
	"{% set a = [] %}{% set _ = a.append(a) %}{{ a }}",
	"{% macro m(n) %}{{ m(n - 1) }}{{ m(n - 1) }}{% endmacro %}{{ m(60) }}",
	"{% block b %}{{ self.b() }}{{ self.b() }}{% endblock %}",
	"{% for a in range(20000) %}" + "x" * 1000 + "{% endfor %}",
	"{% for a in range(20000) %}{{ doc.text }}{% endfor %}",
	"{% for a in range(20000) %}{% if 'zz' in doc.text %}{% endif %}{% endfor %}",
	"{% if 'r r' in doc.text %}{% endif %}" * 1300,
	"{{ ([[1]] * 300000) | sum(start=[]) }}",
	"x" * 60_000,
	"{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
)


class TestTemplates(SiteTestCase):
	def test_ordinary_templates_are_rendered(self):
		for template, text in ORDINARY:
			with self.subTest(template):
				self.assertEqual(render_template(template, {"doc": DOC, "user": "ann"}), text)

	def test_expensive_templates_are_refused_within_time_and_memory_limits(self):
		def refuse():
			with self.assertRaises(Exception) as raised:
				render_template(template, {"doc": DOC, "user": "ann"})
			self.assertNotIsInstance(raised.exception, MemoryError)

		for template in BOMBS:
			with self.subTest(template[:90]):
				seconds, peak = measure(refuse)
				self.assertLess(seconds, 10)
				self.assertLess(peak, 200_000_000)

	def test_long_formats_of_times_are_refused(self):
		for template in ("now.strftime({})", "now | format_datetime({})", "now | format_date({})"):
			with self.subTest(template), self.assertRaisesRegex(TooMuchWork, "a format of times is too long"):
				names = {"now": datetime(2026, 3, 2)}
				render_template("{{ " + template.format("'%999d' * 20000") + " }}", names)

	def test_too_expensive_prompt_is_a_usage_error(self):
		with self.assertRaisesRegex(UsageError, "TooMuchWork: it has too many iterations"):
			render_prompt("{% for a in range(50000) %}{{ a }}{% endfor %}", {"doc": DOC})

	def test_each_rendering_has_separate_limits(self):
		template = "{% for a in range(15000) %}{% endfor %}done"
		for _round in range(3):
			self.assertEqual(render_template(template, {}), "done")
		with self.assertRaises(TooMuchWork):
			render_template(template * 2, {})
