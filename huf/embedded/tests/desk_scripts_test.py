"""Form and list scripts of the Desk, run by Node with stubs of the Desk functions that they call."""

import json
import unittest
from pathlib import Path

from huf import hooks
from huf.tests.npm import run_node

DOCTYPES = Path(__file__).resolve().parents[2] / "huf" / "doctype"
DESK = """
const handlers = {};
let confirmed = true;
globalThis.__ = (text) => text;
globalThis.frappe = {
	ui: { form: { on: (doctype, added) => Object.assign(handlers, added) } },
	form: { get_formatter: () => (value) => `$ ${value}` },
	format: (value) => `$ ${value}`,
	utils: { escape_html: (text) => text.replace(/</g, "&lt;") },
	session: { user: "Administrator" },
	listview_settings: {},
	confirm: (text, yes, no) => { frappe.question = text; confirmed ? yes() : no(); },
	validated: true,
};
const make_form = (doc) => ({
	doc,
	properties: {},
	is_new: () => doc.is_new,
	disable_form() {},
	add_custom_button() {},
	scroll_to_field(name) { this.scrolled = name; },
	set_df_property(field, property, value) { this.properties[`${field}.${property}`] = value; },
});
"""


def run_script(doctype: str, work: str, kind: str = ""):
	"""Load a script of a DocType and return the result of `work`, the body of an async function."""
	script = (DOCTYPES / doctype / f"{doctype}{kind}.js").read_text()
	print_result = "(result) => console.log(JSON.stringify(result))"
	program = f"{DESK}\n{script}\n(async () => {{ {work} }})().then({print_result});"
	done = run_node("-e", program)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


class TestCosts(unittest.TestCase):
	def test_run_list_shows_unknown_for_costs_with_unpriced_calls(self):
		work = """const show = frappe.listview_settings["Agent Run"].formatters.total_cost;
			return [show(0, {}, { unpriced_calls: 1 }), show(0.5, {}, { unpriced_calls: 0 })];"""
		self.assertEqual(run_script("agent_run", work, "_list"), ["unknown", "$ 0.5"])

	def test_forms_show_unknown_for_costs_without_a_price(self):
		for doctype, field, unknown, known in (
			("agent_run", "total_cost", {"unpriced_calls": 2}, {"unpriced_calls": 0}),
			("agent_llm_call", "cost", {"cost_known": 0}, {"cost_known": 1}),
			("agent_route_decision", "cost", {"cost_known": 0}, {"cost_known": 1}),
		):
			with self.subTest(doctype):
				work = f"""const form = make_form({{ status: "Started" }});
					handlers.refresh(form);
					const show = form.properties["{field}.formatter"];
					return [show(0, {{}}, null, {json.dumps(unknown)}), show(1, {{}}, null, {json.dumps(known)})];"""
				self.assertEqual(run_script(doctype, work), ["unknown", "$ 1"])

	def test_offline_hint_is_shown_only_for_runs_without_a_model(self):
		work = """const forms = ["gpt", "Offline"].map((model) => make_form({ model }));
			forms.forEach(handlers.refresh);
			return forms.map((form) => form.properties["model.description"]);"""
		self.assertEqual(run_script("agent_run", work), ["", "Offline: no model is configured"])


class TestTexts(unittest.TestCase):
	def test_texts_of_records_are_escaped_in_lists_and_reports(self):
		hooked = hooks.doctype_list_js
		self.assertIn("Agent Mail", hooked)
		(file,) = set(hooked.values())
		script = (DOCTYPES.parents[1] / file).read_text()
		program = f"""{DESK}
			const fields = {{
				subject: {{ fieldtype: "Data" }}, text: {{ fieldtype: "Text" }}, cost: {{ fieldtype: "Float" }},
			}};
			const order = {{ note: {{ fieldtype: "Data" }} }};
			frappe.meta = {{ docfield_map: {{ "Agent Mail": fields, "Sales Order": order }} }};
			{script}
			const {{ subject, text, cost }} = fields;
			const shown = [subject.formatter("<img src=x>"), text.formatter("a\\n<b"), text.formatter(null)];
			console.log(JSON.stringify(shown));
			console.log(JSON.stringify([cost, order.note].map((field) => Boolean(field.formatter))));"""
		done = run_node("-e", program)
		self.assertEqual(done.returncode, 0, done.stderr)
		shown, others = map(json.loads, done.stdout.splitlines())
		self.assertEqual(shown, ["&lt;img src=x>", "a<br>&lt;b", ""])
		self.assertEqual(others, [False, False])


class TestDefaults(unittest.TestCase):
	"""With the number format 1.000,5 the Desk reads the default 0.3 as 3; the scripts correct that."""

	def test_fractional_defaults_survive_a_decimal_comma_number_format(self):
		agent = """globalThis.flt = (text) => Number(text.replace(".", ""));
			const forms = [3, 0.7].map((temperature) => make_form({ is_new: true, temperature }));
			forms.forEach(handlers.onload);
			return forms.map((form) => form.doc.temperature);"""
		self.assertEqual(run_script("agent", agent), [0.3, 0.7])
		row = """globalThis.flt = (text) => Number(text.replace(".", ""));
			globalThis.locals = { "Agent Route Pattern": { new: { confidence: 9 } } };
			handlers.route_patterns_add({}, "Agent Route Pattern", "new");
			return locals["Agent Route Pattern"].new.confidence;"""
		self.assertEqual(run_script("huf_settings", row), 0.9)

	def test_only_known_fields_have_a_fractional_default(self):
		fractions = {
			(doctype["name"], field["fieldname"])
			for doctype in map(json.loads, (path.read_text() for path in DOCTYPES.glob("*/*.json")))
			for field in doctype.get("fields", ())
			if field["fieldtype"] in ("Float", "Percent") and "." in str(field.get("default"))
		}
		# Huf Settings is already stored when its form is opened.
		stored = ("Huf Settings", "router_confidence_threshold")
		expected = {("Agent", "temperature"), ("Agent Route Pattern", "confidence"), stored}
		self.assertEqual(fractions, expected)


class TestTriggerEvents(unittest.TestCase):
	def test_event_list_shows_labels_and_escapes_event_names(self):
		work = """const show = frappe.listview_settings["Agent Trigger Event"].formatters.event;
			return ["on_update", "order.paid<", null].map(show);"""
		shown = run_script("agent_trigger_event", work, "_list")
		self.assertEqual(shown, ["Created or saved", "order.paid&lt;", ""])


class TestRunAs(unittest.TestCase):
	NEW = {"is_new": True, "trigger_type": "Doc Event", "run_as": ""}

	def save(self, doc: dict, confirmed: bool = True, user: str = "Administrator") -> dict:
		work = f"""frappe.session.user = {json.dumps(user)};
			confirmed = {json.dumps(confirmed)};
			const form = make_form({json.dumps(doc)});
			await handlers.before_save(form);
			return {{ asked: !!frappe.question, saved: frappe.validated, scrolled: form.scrolled }};"""
		return run_script("agent_trigger", work)

	def test_administrator_confirms_an_event_trigger_without_run_as_or_edits_it(self):
		self.assertEqual(self.save(self.NEW), {"asked": True, "saved": True})
		expected = {"asked": True, "saved": False, "scrolled": "run_as"}
		self.assertEqual(self.save(self.NEW, confirmed=False), expected)

	def test_other_users_and_other_triggers_need_no_confirmation(self):
		unasked = {"asked": False, "saved": True}
		self.assertEqual(self.save(self.NEW, user="anna@example.com"), unasked)
		for other in ({"run_as": "anna@example.com"}, {"is_new": False}, {"trigger_type": "Schedule"}):
			self.assertEqual(self.save({**self.NEW, **other}), unasked)
