"""REST: an agent is set up and run, hidden values stay hidden, and malformed requests are refused."""

import io
import json
import time
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch
from urllib.parse import quote

import frappe
from frappe.model.document import Document
from frappe.whitelisting import allowed_http_methods_for_whitelisted_func

from huf.embedded.tests.sites import Browser, SiteTestCase
from huf.tests.model_server import ModelServer, text, tool_call, usage

RENAME = "/api/method/frappe.client.rename_doc"
RUN = "/api/method/huf.ai.agent_integration.run_agent_sync"


class TestRest(SiteTestCase):
	def test_an_agent_is_set_up_and_run_over_http(self):
		with ModelServer() as server:
			self.browser = self.admin()
			self.set_up(server)
			server.script(
				tool_call("add", {"description": "Call Anna"}, usage=usage(100, 10)),
				tool_call("find", {"filters": {"status": "Open"}}, usage=usage(200, 10)),
				tool_call("find", {"limit": 1}, usage=usage(300, 10)),
				text("Done.", usage=usage(400, 20)),
				text("Still done."),
			)
			first = self.post(RUN, agent_name="Planner", prompt="Plan my day")["message"]
			again = {"prompt": "And now?", "conversation_id": first["conversation"]}
			second = self.post(RUN, agent_name="Planner", **again)["message"]
			sent = server.requests[-1]["messages"]
		self.assertEqual((first["status"], first["steps"], first["response"]), ("Success", 4, "Done."))
		self.assertEqual((first["input_tokens"], first["output_tokens"]), (1000, 50))
		self.assertAlmostEqual(first["total_cost"], (1000 * 1 + 50 * 2) / 1e6)
		self.assertEqual(len(self.rows("Agent LLM Call", first["run"])), 4)
		calls = self.rows("Agent Tool Call", first["run"])
		self.assertEqual([call["status"] for call in calls], ["Success"] * 3)
		self.assertTrue(all(call["arguments"] and call["result"] for call in calls))
		prompts = [message["content"] for message in sent if message["role"] == "user"]
		self.assertEqual((second["response"], prompts), ("Still done.", ["Plan my day", "And now?"]))
		self.assertEqual(frappe.db.count("ToDo", {"description": ["like", "%Call Anna%"]}), 1)

	def test_agent_model_and_provider_stay_consistent_over_http(self):
		self.browser = self.admin()
		for provider in ("North", "South"):
			self.post("/api/resource/AI Provider", provide_name=provider, api_key="sk-of-rest-123456")
			own = {"model_name": f"Own of {provider}", "model_id": f"own-{provider}", "provider": provider}
			self.post("/api/resource/AI Model", **own)
			shared = {"model_name": f"Shared of {provider}", "model_id": "shared", "provider": provider}
			self.post("/api/resource/AI Model", **shared)
		self.post("/api/resource/Agent", agent_name="Traveller", model="Own of North")
		self.assertEqual(self.put_agent(model="Own of South"), ("Own of South", "South"))
		both = {"model": "Shared of North", "provider": "North"}
		self.assertEqual(self.put_agent(**both), ("Shared of North", "North"))
		self.assertEqual(self.put_agent(provider="South"), ("Shared of South", "South"))
		self.put_agent(model="Own of South")
		for values in ({"provider": "North"}, {"model": "Shared of South", "provider": "North"}):
			with self.subTest(values):
				answer = self.browser.open("/api/resource/Agent/Traveller", "PUT", json=values)
				self.assertEqual(answer.status_code, 417, answer.text)
				self.assertIn("is of South, not of North. Choose a model of North", answer.text)
				self.assertEqual(self.put_agent(), ("Own of South", "South"))

	def put_agent(self, **values) -> tuple[str, str]:
		"""PUT these values and return (model, provider)."""
		answer = self.browser.open("/api/resource/Agent/Traveller", "PUT", json=values)
		self.assertEqual(answer.status_code, 200, answer.text)
		return answer.json["data"]["model"], answer.json["data"]["provider"]

	def set_up(self, server):
		self.post(
			"/api/resource/AI Provider",
			provide_name="Here",
			api_key="sk-of-rest-123456",
			api_base=server.base_url,
		)
		prices = {"own_prices": 1, "input_price": 1, "output_price": 2}
		self.post("/api/resource/AI Model", model_name="scripted", provider="Here", **prices)
		tool = {"reference_doctype": "ToDo", "description": "To-dos"}
		self.post("/api/resource/Agent Tool Function", tool_name="add", types="Create Document", **tool)
		self.post("/api/resource/Agent Tool Function", tool_name="find", types="Get List", **tool)
		tools = [{"tool": "add"}, {"tool": "find"}]
		self.post("/api/resource/Agent", agent_name="Planner", model="scripted", agent_tool=tools)

	def post(self, path, **body):
		answer = self.browser.post(path, json=body)
		self.assertEqual(answer.status_code, 200, answer.text)
		return answer.json

	def rows(self, doctype, run):
		query = f'filters=[["run","=","{run}"]]&fields=["status","arguments","result"]'
		if doctype == "Agent LLM Call":
			query = f'filters=[["run","=","{run}"]]'
		return self.browser.open(f"/api/resource/{quote(doctype)}?{query}").json["data"]


class TestHiddenValues(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.make_user("reader@example.com", "Huf User")
		self.browser = Browser()
		self.browser.login("reader@example.com")

	def make_payslips(self):
		if frappe.db.exists("DocType", "Payslip"):
			return
		fields = [
			{"fieldname": "title", "fieldtype": "Data", "label": "Title"},
			{"fieldname": "person", "fieldtype": "Link", "options": "User", "label": "Person"},
			{"fieldname": "salary", "fieldtype": "Int", "label": "Salary", "permlevel": 1},
		]
		rights = {"read": 1, "write": 1, "create": 1}
		rules = [{"role": role, **rights} for role in ("System Manager", "Huf User")]
		named = {"name": "Payslip", "module": "Huf", "custom": 1, "autoname": "field:title"}
		definition = {"doctype": "DocType", **named, "fields": fields, "permissions": rules}
		frappe.get_doc(definition).insert()
		for key in ("c", "a", "b"):
			user = self.make_user(f"{key}@example.com")
			frappe.db.set_value("User", user, "api_key", f"key {key}")
			slip = {"doctype": "Payslip", "title": f"of {key}", "person": user, "salary": 987654321}
			frappe.get_doc(slip).insert()
		frappe.db.commit()

	def test_response_to_a_change_hides_fields_of_higher_permlevels(self):
		self.make_payslips()
		link = {"fieldname": "person", "value": "a@example.com"}
		stored = self.browser.open("/api/resource/Payslip/of a").json["data"]
		for method, path, body in (
			("POST", "/api/method/frappe.client.save", {"doc": stored}),
			("POST", "/api/method/frappe.client.set_value", {"doctype": "Payslip", "name": "of a", **link}),
			("PUT", "/api/resource/Payslip/of a", {}),
			("PATCH", "/api/v2/document/Payslip/of a", {}),
		):
			with self.subTest(path):
				answer = self.browser.open(path, method, json=body)
				self.assertEqual(answer.status_code, 200, answer.text)
				self.assertNotIn("987654321", answer.text)
		frappe.db.rollback()
		self.assertEqual(frappe.db.get_value("Payslip", "of a", "salary"), 987654321)

	def test_sorting_or_grouping_by_a_linked_table_alias_is_refused(self):
		self.make_payslips()
		for key in ("order_by", "group_by"):
			with self.subTest(key):
				query = {"fields": '["name", "person.full_name as full_name"]', key: "link_person.api_key"}
				answer = self.browser.open("/api/resource/Payslip", query_string=query)
				self.assertEqual(answer.status_code, 417, answer.text)

	def test_list_sorts_and_groups_by_an_unselected_field_of_a_link(self):
		self.make_payslips()
		for key in ("order_by", "group_by"):
			answer = self.admin().open("/api/resource/Payslip", query_string={key: "person.full_name"})
			self.assertEqual(answer.status_code, 200, answer.text)

	def test_filters_are_refused_where_a_document_name_is_expected(self):
		error = frappe.get_doc({"doctype": "Error Log", "method": "x", "error": "hunter2"}).insert()
		frappe.db.commit()
		for error_text in ("hunter2", "hunter3"):
			for name in ({"error": error_text}, [["error", "=", error_text]]):
				todo = {"description": "x", "reference_type": "Error Log", "reference_name": name}
				upload = {"doctype": "Error Log", "docname": name, "file_url": "/files/x"}
				for path, body in (("resource/ToDo", todo), ("method/upload_file", upload)):
					with self.subTest([path, name]):
						answer = self.browser.post(f"/api/{path}", json=body)
						self.assertEqual(answer.status_code, 417, answer.text)
						self.assertIn("must be text", answer.text)
						self.assertNotIn(error.name, answer.text)

	def test_who_may_only_select_users_finds_and_sorts_them_by_the_shown_fields_only(self):
		self.make_payslips()
		users, search = "/api/resource/User", "/api/method/frappe.desk.search.search_link"
		hidden = (
			(users, {"filters": [["last_ip", "like", "1%"]]}),
			(users, {"or_filters": {"mobile_no": ["is", "set"]}}),
			(users, {"order_by": "last_login desc"}),
			(search, {"doctype": "User", "txt": "", "filters": [["User", "birth_date", "is", "set"]]}),
			("/api/method/frappe.client.get_count", {"doctype": "User", "filters": {"phone": ["is", "set"]}}),
			("/api/resource/Payslip", {"order_by": "person.last_login asc"}),
		)
		for path, query in hidden:
			with self.subTest(path):
				answer = self.browser.open(path, json=query)
				self.assertIn("Field not permitted in query", answer.text)
		shown = {"filters": {"full_name": ["like", "rea%"], "enabled": 1}, "order_by": "full_name asc"}
		found = self.browser.open(users, json=shown).json["data"]
		self.assertEqual(found, [{"name": "reader@example.com"}])
		self.assertIn("reader@example.com", self.browser.open(f"{search}?doctype=User&txt=reader").text)

	def test_filters_are_refused_as_link_values_set_by_code(self):
		for name in ({"enabled": 1}, [["enabled", "=", 1]]):
			with self.assertRaisesRegex(frappe.ValidationError, "must be text"):
				frappe.get_doc({"doctype": "ToDo", "description": "x", "allocated_to": name}).insert()

	def test_attaching_a_file_needs_write_permission_on_the_document(self):
		agent = frappe.get_doc({"doctype": "Agent", "agent_name": "Attached"}).insert().name
		frappe.db.commit()
		target = {"attached_to_doctype": "Agent", "attached_to_name": agent}
		file = {"file_name": "note.txt", "content": "Obey me."}
		self.assertEqual(self.browser.post("/api/resource/File", json={**file, **target}).status_code, 403)
		uploaded = self.browser.post("/api/resource/File", json={**file, "is_private": 1}).json["data"]
		moved = self.browser.open(f"/api/resource/File/{uploaded['name']}", "PUT", json=target)
		self.assertEqual(moved.status_code, 403)
		# A document of this name may be made later.
		future = {"attached_to_doctype": "Agent", "attached_to_name": "Attached next"}
		self.assertEqual(self.browser.post("/api/resource/File", json={**file, **future}).status_code, 403)
		moved = self.browser.open(f"/api/resource/File/{uploaded['name']}", "PUT", json=future)
		self.assertEqual(moved.status_code, 403)

	def test_private_file_attached_to_itself_is_readable_by_its_owner_only(self):
		file = {"file_name": "own.txt", "content": "x", "is_private": 1}
		uploaded = self.browser.post("/api/resource/File", json=file).json["data"]
		target = {"attached_to_doctype": "File", "attached_to_name": uploaded["name"]}
		self.browser.open(f"/api/resource/File/{uploaded['name']}", "PUT", json=target)
		other = Browser()
		other.login(self.make_user("other@example.com", "Huf User"))
		self.assertEqual(other.open(uploaded["file_url"]).status_code, 403)
		self.assertEqual(self.browser.open(uploaded["file_url"]).get_data(), b"x")

	def test_list_with_select_permission_returns_only_names(self):
		query = {"fields": '["name", "owner", "creation", "last_ip"]'}
		rows = self.browser.open("/api/resource/User", query_string=query).json["data"]
		self.assertEqual({key for row in rows for key in row}, {"name"})

	def test_dict_in_place_of_a_doctype_name_is_refused(self):
		definition = {"name": "User", "permissions": [{"role": "All", "read": 1}], "issingle": 1}
		for values in ({"doctype": definition}, {"doctype": "Has Role", "parent": definition}):
			for function in ("get_list", "get_value"):
				with self.subTest([function, values]):
					body = {**values, "fieldname": "name"}
					answer = self.browser.open(f"/api/method/frappe.client.{function}", json=body)
					self.assertEqual(answer.json["exc_type"], "FrappeTypeError")


class TestOddRequests(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.browser = self.admin()

	def assert_refused(self, answer, status=417):
		self.assertEqual(answer.status_code, status, answer.text)

	def test_lone_surrogate_in_a_request_is_refused(self):
		half = {"description": "\ud800"}
		for body in (b'{"description": "\xed\xa0\x80"}', json.dumps(half).encode("utf-16")):
			with self.subTest(body):
				headers = {"Content-Type": "application/json"}
				self.assert_refused(self.browser.post("/api/resource/ToDo", data=body, headers=headers))
		self.assert_refused(self.browser.post("/api/resource/ToDo", data={"data": json.dumps(half)}))
		doc = json.dumps({"doctype": "ToDo", **half})
		self.assert_refused(self.browser.post("/api/method/frappe.client.insert", data={"doc": doc}))

	def test_values_of_another_type_are_refused(self):
		user, file = "/api/resource/User/Guest", {"file_name": "a.txt"}
		child = {"parent": "Guest", "parenttype": "User"}
		for method, path, body in (
			("POST", "/api/resource/File", {**file, "content": "a", "decode": 1}),
			("POST", "/api/resource/File", {**file, "content": 5}),
			("POST", "/api/resource/ToDo", {"description": {"a": 1}}),
			("POST", "/api/resource/User", {"email": 5, "first_name": "x"}),
			("PUT", user, {"modified": "never"}),
			("PUT", user, {"first_name": {"a": 1}}),
			("POST", "/api/method/frappe.client.insert", {"doc": {"doctype": "Has Role", **child}}),
			("GET", "/api/resource/ToDo", {"order_by": 5}),
			("GET", "/api/resource/ToDo", {"order_by": " "}),
			("GET", "/api/resource/ToDo", {"filters": [["creation", "previous", "era"]]}),
		):
			with self.subTest([path, body]):
				self.assert_refused(self.browser.open(path, method, json=body))
		unknown = {"doctype": "Nothing", "old_name": "x", "new_name": "y"}
		self.assert_refused(self.browser.post(RENAME, json=unknown), 404)
		odd = {"Authorization": "Basic \xff"}
		self.assert_refused(Browser().open("/api/method/ping", headers=odd), 400)
		self.assert_refused(self.browser.open(f"/{'a' * 3000}"), 404)
		self.assert_refused(self.browser.open("/api/resource/ToDo?fn=x"), 200)

	def test_date_that_is_none_is_refused_as_by_frappe_with_a_message(self):
		for path in ("/api/resource/ToDo", "/api/v2/document/ToDo"):
			for date in ("tomorrow", "the disk is full", 5):
				with self.subTest(path, date=date):
					answer = self.browser.post(path, json={"description": "x", "date": date})
					self.assert_refused(answer, 500)
					self.assertIn(f"Incorrect date value: '{date}'", answer.text)

	def test_several_fields_are_set_whatever_the_value(self):
		name = self.browser.post("/api/resource/ToDo", json={"description": "x"}).json["data"]["name"]
		body = {"doctype": "ToDo", "name": name, "fieldname": {"description": "y"}, "value": "z"}
		answer = self.browser.post("/api/method/frappe.client.set_value", json=body)
		self.assertEqual(answer.json["message"]["description"], "y")

	def test_concurrent_changes_of_a_document_all_succeed(self):
		name = frappe.get_doc({"doctype": "ToDo", "description": "x"}).insert().name
		frappe.db.commit()
		value = {"doctype": "ToDo", "name": name, "fieldname": "description", "value": "z"}

		def change(number: int) -> list[int]:
			put = self.browser.open(f"/api/resource/ToDo/{name}", "PUT", json={"description": f"y {number}"})
			post = self.browser.post("/api/method/frappe.client.set_value", json=value)
			return [put.status_code, post.status_code]

		with ThreadPoolExecutor(6) as pool:
			self.assertEqual(list(pool.map(change, range(36))), [[200, 200]] * 36)

	def test_document_method_refuses_http_methods_that_it_does_not_allow(self):
		name = frappe.get_doc({"doctype": "Note", "title": "verbs"}).insert().name
		frappe.db.commit()
		with patch.dict(allowed_http_methods_for_whitelisted_func, {Document.rename: ["POST"]}):
			answer = self.browser.open(f"/api/resource/Note/{name}?run_method=rename&name=other")
		self.assert_refused(answer, 403)

	def test_long_text_as_a_date_filter_is_refused_quickly(self):
		began = time.process_time()
		query = {"filters": [["date", ">", "9" * 400_000]]}
		self.assert_refused(self.browser.open("/api/resource/ToDo", json=query))
		self.assertLess(time.process_time() - began, 1)

	def test_document_with_a_year_of_two_digits_can_be_saved_again(self):
		for date in ("0026-11-25", "0999-01-01"):
			made = self.browser.post("/api/resource/ToDo", json={"description": "Call", "date": date})
			address = f"/api/resource/ToDo/{made.json['data']['name']}"
			self.assert_refused(self.browser.open(address, "PUT", json={"description": "Call Anna"}), 200)
			self.assertEqual(self.browser.open(address).json["data"]["date"], date)

	def test_long_pattern_of_a_filter_is_refused(self):
		for operator in ("like", "not like"):
			query = {"doctype": "Note", "filters": [["content", operator, f"%{'a' * 300}"]]}
			answer = self.browser.post("/api/method/frappe.client.get_list", json=query)
			self.assert_refused(answer)
		query["filters"] = [["content", "like", "a" * 300]]
		self.assert_refused(self.browser.post("/api/method/frappe.client.get_list", json=query), 200)

	def test_users_and_standard_roles_cannot_be_renamed(self):
		names = [("User", name) for name in ("Administrator", "Guest", self.make_user("old@example.com"))]
		names += [("Role", name) for name in ("Administrator", "All", "Guest", "System Manager")]
		for doctype, name in names:
			body = {"doctype": doctype, "old_name": name, "new_name": "new@example.com"}
			self.assert_refused(self.browser.post("/api/method/frappe.client.rename_doc", json=body))
			frappe.db.rollback()
			self.assertTrue(frappe.db.exists(doctype, name))

	def test_folders_that_uploads_need_cannot_be_deleted(self):
		for folder in ("Home/Attachments", "Home"):
			self.assert_refused(self.browser.open(f"/api/resource/File/{folder}", "DELETE"))

	def test_child_row_name_is_case_insensitive_and_unknown_rows_return_404(self):
		row = frappe.db.get_value("Has Role", {"parent": "Guest", "parenttype": "User"})
		body = {"doctype": "Has Role", "fieldname": "role", "value": "Guest"}
		for name, status in ((row.upper(), 200), ("nowhere", 404)):
			answer = self.browser.post("/api/method/frappe.client.set_value", json={**body, "name": name})
			self.assert_refused(answer, status)

	def test_long_file_names_keep_their_extension(self):
		for name in ("\u044f" * 135 + ".txt", "a" * 136 + ".txt"):
			for content in (b"one", b"two"):
				with self.subTest([name, content]):
					file = {"file": (io.BytesIO(content), name)}
					answer = self.browser.post("/api/method/upload_file", data=file)
					self.assertEqual(answer.status_code, 200, answer.text)
					self.assertTrue(answer.json["message"]["file_url"].endswith(".txt"))
					found = self.browser.open(answer.json["message"]["file_url"])
					self.assertEqual(found.get_data(), content)
