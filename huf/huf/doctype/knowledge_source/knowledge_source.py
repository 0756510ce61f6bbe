import frappe
from frappe import _
from frappe.model.document import Document

from huf.ai.core.errors import UsageError
from huf.ai.core.field_values import check_field_values, throwing
from huf.ai.knowledge import changes, sources, store, vectors
from huf.ai.knowledge.indexing import request_index
from huf.ai.tools.fields import list_readable_fields

INDEXED_FIELDS = (
	"source_type",
	"urls",
	"reference_doctype",
	"document_fields",
	"filters",
	"with_attachments",
	"disabled",
	"embedding_model",
)

STATE_FIELDS = ("state", "error", "indexed_at", "requested")


class KnowledgeSource(Document):
	def validate(self):
		self.keep_state()
		check_field_values(self)
		if self.embedding_model and not vectors.is_available():
			frappe.throw(_("Embedding models need numpy, which is not installed. Run: pip install numpy"))
		if self.source_type == "DocType":
			self.check_doctype()
			self.check_fields()
			self.check_filters()
			self.check_author()
		elif self.source_type == "URLs":
			self.check_urls()

	def on_update(self):
		changes.forget_cached_sources()
		if self.disabled:
			return
		if self.get_doc_before_save() is None or any(map(self.has_value_changed, INDEXED_FIELDS)):
			again = any(map(self.has_value_changed, ("document_fields", "embedding_model")))
			request_index(self.name, again)

	def on_trash(self):
		changes.forget_cached_sources()
		store.delete_items(list(store.read_items(self.name)))

	def keep_state(self):
		"""Keep the indexing state, which a worker may have written after this form was opened."""
		before = self.get_doc_before_save()
		for fieldname in STATE_FIELDS:
			self.set(fieldname, before.get(fieldname) if before else None)
		self.state = self.state or "New"

	def check_doctype(self):
		if not self.reference_doctype:
			frappe.throw(_("Choose the DocType whose documents agents should find."))
		meta = frappe.get_meta(self.reference_doctype)
		if meta.istable or meta.issingle or meta.is_virtual:
			frappe.throw(
				_("{0} has no documents of its own. Choose another DocType.").format(self.reference_doctype)
			)

	def check_fields(self):
		known = sources.list_indexable_fields(self.reference_doctype)
		wanted = sources.get_indexed_fields(self)
		if unknown := [each for each in wanted if each not in known]:
			names = _("{0} has no text field {1}.")
			frappe.throw(names.format(self.reference_doctype, ", ".join(unknown)))
		if not wanted:
			frappe.throw(_("{0} has no text fields.").format(self.reference_doctype))

	def check_filters(self):
		frappe.db.savepoint("check_filters")
		messages = len(frappe.local.message_log)
		try:
			sources.list_document_names(self, "-")
		except Exception as error:  # each database refuses wrong filters with errors of its own
			frappe.db.rollback(save_point="check_filters")
			del frappe.local.message_log[messages:]
			reason = str(error.__cause__ or error)
			frappe.throw(_("Filters must be JSON such as {0}: {1}").format('{"status": "Open"}', reason))

	def check_author(self):
		"""Only a System Manager chooses what others may read: item counts reveal which documents match the
		filters, and an embedding model's provider receives all texts. Any manager may disable a source.
		"""
		choices = [each for each in INDEXED_FIELDS if each != "disabled" or not self.disabled]
		if "System Manager" in frappe.get_roles() or not any(map(self.has_value_changed, choices)):
			return
		doctype = self.reference_doctype
		filtered = {field for field, *_rest in sources.parse_filters(self)}
		if not frappe.has_permission(doctype, "read") or not filtered <= set(list_readable_fields(doctype)):
			why = _("You may not read {0}, or a field that the filters name. A System Manager can choose it.")
			frappe.throw(why.format(_(doctype)), frappe.PermissionError)
		if self.embedding_model:
			vectors.refuse_text_receiver()

	def check_urls(self):
		from huf.ai.core.errors import ToolError
		from huf.ai.tools.http import resolve_url

		for url in sources.parse_urls(self):
			with throwing((ToolError, UsageError)):
				resolve_url(url, None, tied=False)
