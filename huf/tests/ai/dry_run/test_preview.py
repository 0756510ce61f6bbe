"""A preview shows the changes that the server would make, and approval applies exactly these."""

from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.core.errors import ToolError
from huf.ai.core.session import acting_as
from huf.ai.dry_run import change_tracking
from huf.ai.dry_run.change_tracking import tracking
from huf.ai.dry_run.preview import PreviewChanged, apply_approved, preview_changes
from huf.ai.tools import document_tools as tools
from huf.tests.base import SiteTestCase
from huf.tests.doctypes import (
	CASE,
	CUSTOMER,
	EDITOR,
	LEAD,
	ORDER,
	READER,
	controller,
	make_case,
	make_doctypes,
	make_order,
)
from huf.tests.factories import make, make_file, make_user, unique


class PreviewTestCase(SiteTestCase):
	def setUp(self):
		super().setUp()
		make_doctypes()

	def preview(self, work):
		"""The preview; the transaction is rolled back, as it is after a draft is stored."""
		preview = preview_changes(work)
		frappe.db.rollback()
		return preview

	def preview_one(self, work) -> dict:
		(change,) = self.preview(work).changes
		return change


class TestDifference(PreviewTestCase):
	def test_a_preview_of_a_new_document_includes_values_set_by_the_server(self):
		make_order()
		change = self.preview_one(
			lambda: tools.create_document(ORDER, {"customer": "Anna", "lines": [{"item": "saw"}]})
		)
		self.assertEqual((change["action"], change["provisional"]), ("create", True))
		self.assertTrue(change["name"].startswith("HUF-ORD-"))
		values = {each["fieldname"]: each["after"] for each in change["fields"]}
		self.assertEqual((values["city"], values["status"]), ("Brno", "New"))
		(row,) = change["rows"]
		self.assertEqual((row["action"], row["label"]), ("add", "Lines"))
		self.assertEqual({f["fieldname"]: f["after"] for f in row["fields"]}, {"item": "saw", "qty": 1})
		self.assertFalse(frappe.db.exists(ORDER, change["name"]))

	def test_a_document_whose_earlier_save_failed_is_not_tracked(self):
		case, order = make_case(), make_order()
		with self.assertRaises(frappe.ValidationError):
			tools.set_value(CASE, case.name, "status", "No such status")
		self.assertIn((CASE, case.name), frappe.flags.currently_saving)
		with tracking(is_dry_run=True) as tracked:
			tools.set_value(ORDER, order.name, "note", "new")
		self.assertEqual(list(tracked.documents), [(ORDER, order.name)])

	def test_changed_fields_are_shown_with_label_before_and_after(self):
		case = make_case()
		change = self.preview_one(lambda: tools.set_value(CASE, case.name, "status", "Closed"))
		self.assertEqual((change["action"], change["name"]), ("update", case.name))
		described = {"fieldname": "status", "label": "Status", "fieldtype": "Select"}
		self.assertEqual(change["fields"], [{**described, "before": "Open", "after": "Closed"}])
		self.assertEqual(frappe.db.get_value(CASE, case.name, "status"), "Open")

	def test_a_document_with_a_random_name_is_shown_with_its_previous_title(self):
		todo = frappe.get_doc({"doctype": "ToDo", "description": "<p>Call <b>Anna</b></p>"}).insert()
		frappe.db.commit()
		for field, value in (("priority", "High"), ("description", "Call Ben")):
			change = self.preview_one(lambda: tools.set_value("ToDo", todo.name, field, value))  # noqa: B023
			self.assertEqual((change["name"], change["title"]), (todo.name, "Call Anna"))
		created = self.preview_one(lambda: tools.create_document("ToDo", {"description": "Call Ben"}))
		self.assertNotIn("title", created)

	def test_child_rows_are_matched_by_name_as_added_changed_or_removed(self):
		order = make_order("nail", "saw")
		nail, saw = order.lines
		lines = [{**saw.as_dict(), "qty": 4}, {"item": "glue"}]
		change = self.preview_one(lambda: save(order.name, lines=lines))
		rows = {row["action"]: row for row in change["rows"]}
		self.assertEqual((rows["remove"]["row"], rows["change"]["row"]), (nail.name, saw.name))
		described = {"fieldname": "qty", "label": "Qty", "fieldtype": "Int"}
		self.assertEqual(rows["change"]["fields"], [{**described, "before": 1, "after": 4}])
		self.assertEqual(rows["add"]["fields"][0]["after"], "glue")

	def test_preview_of_a_rename_shows_the_old_name_as_deleted(self):
		old, new = make(CUSTOMER, title=unique("Customer")).name, unique("Customer")
		preview = self.preview(lambda: frappe.rename_doc(CUSTOMER, old, new))
		self.assertEqual(
			{(change["action"], change["name"]) for change in preview.changes},
			{("delete", old), ("create", new)},
		)

	def test_preview_shows_the_beginning_of_a_text_file(self):
		case, text = make_case(), unique("We pay 1000 €")

		def attach(content):
			return lambda: tools.attach_file_to_document(CASE, case.name, "a.txt", content)

		contents = [f for f in self.preview_one(attach(text))["fields"] if f["fieldname"] == "content"]
		self.assertEqual([(f["label"], f["before"], f["after"]) for f in contents], [("Content", None, text)])
		named = {f["fieldname"]: f["after"] for f in self.preview_one(attach("€" * 50_000))["fields"]}
		self.assertTrue(named["content"].endswith("€…"))
		self.assertNotIn(
			"content", str(self.preview_one(attach("\0binary"))["fields"]).replace("content_hash", "")
		)
		tools.attach_file_to_document(CASE, case.name, "b.txt", text)
		frappe.db.commit()
		file = frappe.db.get_value("File", {"attached_to_name": case.name})
		deleted = self.preview_one(lambda: tools.delete_document("File", file))["fields"]
		self.assertIn((text, None), [(f["before"], f["after"]) for f in deleted])

	def test_preview_shows_a_file_that_becomes_text_and_skips_remote_files(self):
		binary, other = (make_file("a", each + unique("a").encode()) for each in (b"\0", b"text"))
		url = frappe.db.get_value("File", other, "file_url")
		fields = self.preview_one(lambda: tools.set_value("File", binary, "file_url", url))["fields"]
		(content,) = [f for f in fields if f["fieldname"] == "content"]
		self.assertEqual((content["before"], content["after"][:4]), (None, "text"))
		elsewhere = make("File", file_name="a", file_url="https://example.com/a")
		frappe.db.commit()
		messages = len(frappe.local.message_log)
		gone = self.preview_one(lambda: tools.delete_document("File", elsewhere.name))["fields"]
		self.assertNotIn("content", [f["fieldname"] for f in gone])
		self.assertEqual(len(frappe.local.message_log), messages)

	def test_submit_cancel_and_delete_are_shown_as_actions(self):
		order = make_order()
		change = self.preview_one(lambda: tools.submit_document(ORDER, order.name))
		self.assertEqual(change["action"], "submit")
		self.assertEqual([(f["before"], f["after"]) for f in change["fields"]], [("Draft", "Submitted")])
		tools.submit_document(ORDER, order.name)
		frappe.db.commit()
		self.assertEqual(
			self.preview_one(lambda: tools.cancel_document(ORDER, order.name))["action"], "cancel"
		)
		case = make_case()
		change = self.preview_one(lambda: tools.delete_document(CASE, case.name))
		self.assertEqual((change["action"], change["fields"][0]["after"]), ("delete", None))

	def test_deletion_names_the_doctypes_of_which_documents_are_deleted_with_it(self):
		case = make_case()
		before = self.preview(lambda: tools.delete_document(CASE, case.name))
		self.assertNotIn("ToDo", before.tables)
		make("ToDo", description="x", reference_type=CASE, reference_name=case.name)
		frappe.db.commit()
		after = self.preview(lambda: tools.delete_document(CASE, case.name))
		self.assertIn("ToDo", after.tables)
		self.assertNotEqual(after.digest, before.digest)

	def test_deletion_of_a_user_is_shown(self):
		# On a bench, its controller names a table by the query builder.
		user = make_user()
		preview = self.preview(lambda: frappe.delete_doc("User", user))
		self.assertIn(
			("User", user, "delete"), [(c["doctype"], c["name"], c["action"]) for c in preview.changes]
		)

	def test_documents_and_tables_changed_by_the_controller_are_shown(self):
		order = make_order()

		def on_update(doc):
			make(CASE, title=f"Check {doc.name}")
			frappe.db.set_value(CUSTOMER, doc.customer, "orders", 7)
			frappe.db.sql(f"update `tab{'Huf Test Team'}` set title = title")

		with controller(ORDER, on_update=on_update):
			preview = self.preview(lambda: tools.set_value(ORDER, order.name, "note", "x"))
		self.assertEqual(
			[(c["doctype"], c["action"]) for c in preview.changes],
			[(ORDER, "update"), (CASE, "create"), (CUSTOMER, "update")],
		)
		self.assertEqual(preview.tables, ("Huf Test Team",))
		self.assertFalse(frappe.db.exists(CASE, {"title": f"Check {order.name}"}))

	def test_fields_the_user_may_not_read_are_counted_and_no_more(self):
		order = make_order(note="a")

		def on_update(doc):
			frappe.db.set_value(CUSTOMER, doc.customer, {"discount": 5, "orders": frappe.db.count(ORDER)})

		previews = {}
		for role in (EDITOR, LEAD):
			with acting_as(make_user(role)), controller(ORDER, on_update=on_update):
				previews[role] = self.preview(lambda: tools.set_value(ORDER, order.name, "note", "b"))
		editor, lead = (previews[role].changes[1] for role in (EDITOR, LEAD))
		self.assertNotIn("discount", [f["fieldname"] for f in editor["fields"]])
		self.assertIn("discount", [f["fieldname"] for f in lead["fields"]])
		self.assertEqual((editor["hidden"], lead["hidden"]), (1, 0))
		self.assertEqual(previews[EDITOR].digest, previews[LEAD].digest)

	def test_errors_are_those_of_the_write_itself(self):
		order = make_order()
		with acting_as(make_user(READER)), self.assertRaises(frappe.PermissionError):
			preview_changes(lambda: tools.set_value(ORDER, order.name, "note", "x"))
		with self.assertRaises(frappe.MandatoryError):
			preview_changes(lambda: tools.create_document(ORDER, {"note": "x"}))
		with self.assertRaises(ToolError):
			preview_changes(lambda: tools.delete_document(ORDER, "no such order"))

	def test_rows_in_another_order_and_another_owner_are_changes(self):
		order = make_order("nail", "saw", "tar")

		def swap_rows():
			doc = frappe.get_doc(ORDER, order.name)
			rows = [doc.lines[0], doc.lines[2], doc.lines[1]]
			for idx, row in enumerate(rows, 1):
				row.idx = idx
			doc.lines = rows
			doc.save()

		changed_rows = self.preview_one(swap_rows)["rows"]
		index_changes = {
			row["row"]: [(f["fieldname"], f["before"], f["after"]) for f in row["fields"]]
			for row in changed_rows
		}
		second, third = (row.name for row in order.lines[1:])
		self.assertEqual(index_changes, {second: [("idx", 2, 3)], third: [("idx", 3, 2)]})
		(field,) = self.preview_one(lambda: frappe.db.set_value(ORDER, order.name, "owner", "Guest"))[
			"fields"
		]
		self.assertEqual((field["fieldname"], field["after"]), ("owner", "Guest"))

	def test_sql_on_other_documents_of_the_doctype_lists_its_table(self):
		order, others = make_order(), [make_order(), make_order()]
		orders = f"update `tab{ORDER}` set note = 'x' where name in %s"
		statements = {
			"sql": (ORDER, lambda: frappe.db.sql(orders, (tuple(o.name for o in others),))),
			"delete": (ORDER, lambda: frappe.db.delete(ORDER, {"name": others[0].name})),
			"name without quotes": ("ToDo", lambda: frappe.db.sql("delete from tabToDo where name = 'x'")),
		}
		for kind, (doctype, write) in statements.items():
			with self.subTest(kind):

				def work(write=write):
					tools.set_value(ORDER, order.name, "note", "y")
					write()

				preview = self.preview(work)
				self.assertEqual(
					([c["name"] for c in preview.changes], preview.tables), ([order.name], (doctype,))
				)
		self.assertEqual(self.preview(lambda: tools.set_value(ORDER, order.name, "note", "y")).tables, ())

	def test_changes_above_the_row_limit_are_listed_by_doctype(self):
		orders = [make_order() for _ in range(3)]
		with patch.object(change_tracking, "MAX_ROWS", 2):
			preview = self.preview(
				lambda: frappe.db.set_value(ORDER, {"name": ["in", [o.name for o in orders]]}, "note", "x")
			)
		self.assertEqual((len(preview.changes), preview.tables), (2, (ORDER,)))

	def test_secrets_are_masked(self):
		change = self.preview_one(lambda: make(CASE, title="x", pin="1234"))
		self.assertEqual([f["after"] for f in change["fields"] if f["fieldname"] == "pin"], ["•••"])

	def test_preview_shows_that_a_secret_is_replaced(self):
		name = make_case(pin="12345678").name
		for pin, changed in (("98765432", ["pin"]), ("12345678", [])):
			preview = self.preview(lambda: frappe.get_doc(CASE, name).update({"pin": pin}).save())  # noqa: B023
			self.assertEqual([f["fieldname"] for c in preview.changes for f in c["fields"]], changed)
			self.assertNotIn(pin, str(preview))


class TestSame(PreviewTestCase):
	"""The applied change is the previewed one."""

	def build_changes(self):
		order, amended, case = make_order("nail", "saw"), make_order(), make_case()
		submitted = tools.submit_document(ORDER, make_order().name)["name"]
		amended.submit()
		amended.cancel()
		to_delete, customer, file = make_order(), unique("Customer"), f"{unique('a')}.txt"
		frappe.db.commit()
		lines = [{**order.lines[1].as_dict(), "qty": 9}, {"item": "glue"}, {"item": "tar", "qty": 3}]
		return {
			"create": lambda: tools.create_document(ORDER, {"customer": "Anna", "lines": [{"item": "a"}]}),
			"create named": lambda: tools.create_document(CUSTOMER, {"title": customer, "city": "Zlín"}),
			"create several": lambda: tools.create_documents(CASE, [{"title": "a"}, {"title": "b"}]),
			"update": lambda: tools.update_document(CASE, case.name, {"title": "New", "amount": 5}),
			"set value": lambda: tools.set_value(ORDER, order.name, "status", "Paid"),
			"child rows": lambda: save(order.name, lines=lines),
			"time": lambda: save(order.name, ordered_at=now_datetime()),
			"submit": lambda: tools.submit_document(ORDER, order.name),
			"cancel": lambda: tools.cancel_document(ORDER, submitted),
			"amend": lambda: frappe.get_doc(
				{**frappe.copy_doc(amended).as_dict(), "docstatus": 0, "amended_from": amended.name}
			).insert(),
			"delete": lambda: tools.delete_document(ORDER, to_delete.name),
			"attach": lambda: tools.attach_file_to_document(CASE, case.name, file, "hello"),
		}

	def test_the_committed_difference_is_the_previewed_one(self):
		def on_change(doc):
			frappe.db.set_value(CUSTOMER, doc.customer, "orders", frappe.db.count(ORDER))

		for kind, work in self.build_changes().items():
			with self.subTest(kind), controller(ORDER, on_change=on_change):
				preview = self.preview(work)
				before = {(d, n): frappe.db.get_value(d, n, "modified") for d, n, _ in preview.against}
				self.assertEqual(
					{k: str(v) for k, v in before.items()}, {(d, n): m for d, n, m in preview.against}
				)
				apply_approved(work, preview.digest)
				frappe.db.commit()
				self.assert_committed(preview)

	def assert_committed(self, preview):
		new = {c["doctype"]: 0 for c in preview.changes}
		for change in reversed(preview.changes):
			name = change["name"]
			if change.get("provisional"):
				newest = frappe.get_all(change["doctype"], pluck="name", order_by="creation desc", limit=5)
				name, new[change["doctype"]] = newest[new[change["doctype"]]], new[change["doctype"]] + 1
			if change["action"] == "delete":
				self.assertFalse(frappe.db.exists(change["doctype"], name))
				continue
			doc = frappe.get_doc(change["doctype"], name)
			for each in change["fields"]:
				if each["fieldname"] not in ("docstatus", "file_url") and not each.get("provisional"):
					is_content = each["fieldname"] == "content"
					stored = doc.get_content() if is_content else doc.get(each["fieldname"])
					self.assertEqual(format_as_preview(stored), each["after"], (change, each))
			if change["rows"]:
				indexes = [row["idx"] for row in change["rows"] if row["action"] != "remove"]
				self.assertLessEqual(set(indexes), {row.idx for row in doc.lines})

	def test_the_digest_of_two_previews_is_the_same_although_names_are_not(self):
		make_order()

		def work():
			return tools.create_document(CASE, {"title": "a"})

		first, second = self.preview(work), self.preview(work)
		self.assertNotEqual(first.changes[0]["name"], second.changes[0]["name"])
		self.assertEqual(first.digest, second.digest)
		other = self.preview(lambda: tools.create_document(CASE, {"title": "b"}))
		self.assertNotEqual(first.digest, other.digest)

	def test_a_change_that_differs_from_its_preview_is_not_applied(self):
		order = make_order(note="a")
		preview = self.preview(lambda: tools.set_value(ORDER, order.name, "note", "b"))
		frappe.db.set_value(ORDER, order.name, "note", "c")
		frappe.db.commit()
		with self.assertRaises(PreviewChanged) as differs:
			apply_approved(lambda: tools.set_value(ORDER, order.name, "note", "b"), preview.digest)
		frappe.db.commit()
		(field,) = differs.exception.preview.changes[0]["fields"]
		self.assertEqual((field["before"], field["after"]), ("c", "b"))
		self.assertEqual(frappe.db.get_value(ORDER, order.name, "note"), "c")

	def test_number_of_mails_is_part_of_the_approved_digest(self):
		order, recipients = make_order(), ["a@example.com"]

		def on_update(doc):
			for each in recipients:
				make("Email Queue", sender="b@example.com", message="x", recipients=[{"recipient": each}])

		with controller(ORDER, on_update=on_update):
			work = lambda: tools.set_value(ORDER, order.name, "note", "x")  # noqa: E731
			preview = self.preview(work)
			self.assertEqual(preview.suppressed["mails"], 1)
			recipients.append("c@example.com")
			with self.assertRaises(PreviewChanged) as changed:
				apply_approved(work, preview.digest)
			apply_approved(work, changed.exception.preview.digest)

	def test_a_change_that_differs_on_every_run_is_not_applied(self):
		for notes in (["a", "a", "b"], ["a", "b", "c"]):
			order, turns = make_order(), iter(notes)
			work = lambda: tools.set_value(ORDER, order.name, "note", next(turns))  # noqa: B023, E731
			preview = self.preview(work)
			with self.subTest(notes), self.assertRaisesRegex(ToolError, rf"each time it runs \({ORDER}\)"):
				apply_approved(work, preview.digest)
			frappe.db.rollback()
			self.assertIsNone(frappe.db.get_value(ORDER, order.name, "note"))


def save(name: str, **values):
	doc = frappe.get_doc(ORDER, name)
	doc.update(values)
	return doc.save()


def format_as_preview(value):
	"""A stored value as a preview shows it."""
	return value if value is None or isinstance(value, int | float) else str(value) or None
