"""The command `huf`: help, errors for wrong input, and output about waiting and failed runs."""

import json
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from unittest import mock

import frappe
import yaml
from click.testing import CliRunner

import huf
from huf.ai.runs.entry import run_agent_sync
from huf.embedded import site
from huf.embedded.cli import SECTIONS, cli
from huf.embedded.tests.sites import Browser, SiteTestCase, isolated
from huf.tests.factories import make, make_agent, make_model, make_role, make_tool, make_user
from huf.tests.model_server import ModelServer, error, tool_call
from huf.tests.ports import find_free_port


class TestCommandLine(SiteTestCase):
	def run_huf(self, *words: str, home=None):
		return isolated(CliRunner().invoke, cli, ["--home", str(home or self.home), *words])

	def assert_refused(self, result, *words: str) -> None:
		self.assertIn(result.exit_code, (1, 2), result.output)
		self.assertNotIsInstance(result.exception, (OSError, ValueError, TypeError), result.output)
		for word in words:
			self.assertIn(word, result.output)

	def test_help_lists_every_command_in_a_whole_sentence(self):
		self.assertEqual({name for names in SECTIONS.values() for name in names}, set(cli.commands))
		self.assertNotIn("...\n", self.run_huf("--help").output.partition("Start:")[2])
		self.assertNotIn("...\n", self.run_huf("router", "--help").output.partition("Commands:")[2])

	def test_waiting_run_prints_the_tool_and_the_address_of_its_draft(self):
		tool = make_tool("Create Document", reference_doctype="ToDo", requires_approval=1)
		with ModelServer() as server:
			agent = make_agent(make_model(server), (tool,))
			server.script(tool_call(tool, {"description": "Call Anna"}))
			result = self.run_huf("ask", agent, "Create a todo")
		frappe.db.rollback()
		draft = frappe.db.get_value("Agent Draft", {"tool": tool}, "name")
		self.assert_refused(result, f"waits for approval of {tool}", f"/huf/drafts/{draft}")

	def test_error_of_a_failed_run_is_printed_to_stderr(self):
		with ModelServer() as server:
			agent = make_agent(make_model(server))
			server.script(error(400, "no such deployment"))
			result = self.run_huf("ask", agent, "Hello")
		self.assert_refused(result)
		self.assertRegex(result.stdout, r"^The run \w+ has the status Failed\.\n$")
		self.assertIn("no such deployment", result.stderr)

	def test_site_that_is_older_than_the_code_names_the_command_that_updates_it(self):
		ask = ("ask", "Office Assistant", "How many users are there?")
		with tempfile.TemporaryDirectory() as home:
			self.run_huf("init", home=home)
			with closing(sqlite3.connect(site.site_path(home) / "site.db")) as database:
				database.execute("ALTER TABLE `tabAgent Run` DROP COLUMN client_fields")
				database.execute("UPDATE tabDocType SET migration_hash = NULL WHERE name = 'Agent Run'")
				database.commit()
			self.assert_refused(self.run_huf(*ask, home=home), "Update them with `huf migrate`.")
			self.run_huf("migrate", home=home)
			self.assertIn("User records", self.run_huf(*ask, home=home).output)

	def test_unusable_path_or_address_is_named_in_the_error(self):
		for words in (("start", "--port", str(find_free_port())), ("init",)):
			self.assert_refused(self.run_huf(*words, home="/proc/nowhere"), "/proc/nowhere: ")
		self.assert_refused(self.run_huf("backup", "/proc/nowhere/site.backup"), "Name another place")
		self.assert_refused(self.run_huf("export", "/proc/nowhere.yaml"), "/proc/nowhere.yaml: ")
		self.assert_refused(self.run_huf("import-openapi", "nowhere.yaml"), "There is no file nowhere.yaml.")
		self.assert_refused(self.run_huf("import", str(self.home)), "is not a pack: it has no pack.yaml")
		result = self.run_huf("import-openapi", "http://127.0.0.1:1/openapi.json")
		self.assert_refused(result, "private address", "--allow-private")

	def test_invalid_port_or_host_is_refused_before_a_site_is_created(self):
		home = self.home / "unused"
		for port in ("0", "99999"):  # of 0, the printed address would not be the server's
			self.assert_refused(self.run_huf("start", "--port", port, home=home), "1<=x<=65535")
		self.assert_refused(self.run_huf("start", "--host", "192.0.2.1", home=home), "--host")
		self.assertFalse((home / "sites").exists())

	def test_init_of_a_site_logs_no_slow_transaction_warning(self):
		with (
			tempfile.TemporaryDirectory() as home,
			mock.patch("frappe.database.connection.SLOW_TRANSACTION", 0),
			self.assertNoLogs("frappe.database"),
		):
			self.assertEqual(self.run_huf("init", home=home).exit_code, 0)

	def test_start_warns_when_the_web_app_is_not_built(self):
		def serve(_home, _host, _port, _prepare, on_ready):
			on_ready()

		for is_built in (False, True):
			if is_built:
				(self.home / "www").mkdir()
				(self.home / "www" / "huf.html").touch()
			with (
				mock.patch("huf.embedded.cli.serve", side_effect=serve),
				mock.patch.object(huf, "__file__", str(self.home / "__init__.py")),
			):
				output = self.run_huf("start").output
			self.assertEqual("web app is not built" in output, not is_built, output)

	def test_execute_reports_invalid_kwargs_and_unknown_functions(self):
		for kwargs, word in (("{bad", "not JSON"), ("[1]", "an object")):
			self.assert_refused(self.run_huf("execute", "frappe.get_all", "--kwargs", kwargs), word)
		for path in (
			"nothing",
			"huf",
			"frappe.nothing",
			"huf.nothing.here",
			"frappe.local",
			"huf.__version__",
		):
			self.assert_refused(self.run_huf("execute", path), f"There is no function {path}")

	def test_execute_prints_what_a_function_refuses_in_one_sentence(self):
		refused = self.run_huf("execute", "frappe.throw", "--kwargs", '{"msg": "Not so."}')
		self.assert_refused(refused, "Error: Not so.")
		empty = '{"doc": {"doctype": "ToDo"}}'
		refused = self.run_huf("execute", "frappe.client.insert", "--kwargs", empty)
		self.assert_refused(refused, "A value is missing. [ToDo, ", "description")

	def test_execute_calls_methods_of_frappe_objects_like_bench(self):
		result = self.run_huf("execute", "frappe.db.exists", "--kwargs", '{"dt": "User", "dn": "Guest"}')
		self.assertEqual(result.output, '"Guest"\n')

	def test_execute_prints_a_result_that_is_not_json_as_python_shows_it(self):
		result = self.run_huf("execute", "frappe.get_meta", "--kwargs", '{"doctype": "ToDo"}')
		self.assertEqual(result.exit_code, 0, result.output)
		self.assertIn("Meta", result.output)

	def test_unknown_agent_is_refused_with_the_list_of_agents(self):
		agent = make_agent()
		for words in (("ask", "Nobody", "Hi"), ("eval", "Nobody")):
			self.assert_refused(self.run_huf(*words), "There is no agent 'Nobody'. Agents: ", agent)

	def test_set_password_refuses_an_unknown_user_before_prompting(self):
		result = self.run_huf("set-password", "nobody@example.com")
		self.assertEqual(result.output, "Error: There is no user nobody@example.com.\n")
		self.assertIn("Guest cannot sign in", self.run_huf("set-password", "Guest").output)

	def test_set_password_and_login_ignore_the_case_of_the_user_name(self):
		result = self.run_huf("set-password", "administrator", "--password", "a fine new password 8")
		self.assertEqual(result.output, "The password of Administrator is changed.\n")
		self.assertIn("The password was set on the server.", self.run_huf("audit").output)
		browser = Browser()
		self.assertEqual(browser.login("administrator", "a fine new password 8").status_code, 200)
		self.assertEqual(
			browser.open("/api/method/frappe.auth.get_logged_user").json["message"], "Administrator"
		)

	def test_init_recreates_a_site_whose_creation_was_killed(self):
		home = self.home / "killed"
		config = {"encryption_key": "x", "installed_apps": ["frappe"], site.INCOMPLETE: 1}
		folder = site.site_path(home)
		folder.mkdir(parents=True)
		site.write_config(folder, config)
		(folder / "site.db").write_bytes(b"torn")
		self.assertIn("There is no site", self.run_huf("doctor", home=home).output)
		self.assertIn("Password", self.run_huf("init", home=home).output)
		self.assertEqual(site.read_config(folder).keys(), {"encryption_key", "installed_apps"})
		self.assertIn("has a site already", self.run_huf("init", home=home).output)

	def test_commands_name_an_app_whose_package_is_missing_and_do_what_needs_no_app(self):
		folder = site.site_path(self.home)
		before = site.read_config(folder)
		self.addCleanup(site.write_config, folder, before)
		site.write_config(folder, {**before, "installed_apps": [*before["installed_apps"], "lost_tools"]})
		for words in (("doctor",), ("migrate",), ("packs",), ("worker",)):
			self.assert_refused(self.run_huf(*words), "app lost_tools. Put it back, or take lost_tools out")
		for words in (("audit",), ("backup", str(self.home / "lost.zip")), ("stop",), ("release",)):
			result = self.run_huf(*words)
			self.assertEqual(result.exit_code, 0, result.output)

	def test_doctor_names_a_damaged_jobs_db_and_checks_the_rest(self):
		with tempfile.TemporaryDirectory() as home:
			self.run_huf("init", home=home)
			(site.site_path(home) / "jobs.db").write_bytes(b"torn" * 1000)
			result = self.run_huf("doctor", home=home)
			self.assert_refused(result, "WRONG  jobs.db", "delete this file", "ok     tools")

	def test_doctor_names_mail_that_could_not_be_sent(self):
		self.assertIn("not sent in the last day: 0\n", self.run_huf("doctor").output)
		mail = make("Email Queue", status="Not Sent", error="Connection refused", sender="a@b.c", message="x")
		self.addCleanup(frappe.db.commit)
		self.addCleanup(frappe.delete_doc, "Email Queue", mail.name)
		frappe.db.commit()
		self.assertIn("1; the last: Connection refused", self.run_huf("doctor").output)

	def test_doctor_names_the_missing_address_that_links_of_approval_mails_need(self):
		make_agent(approval_mail=1)
		folder = site.site_path(self.home)
		before = site.read_config(folder)
		self.addCleanup(site.write_config, folder, before)
		self.assertIn("huf.localhost: set host_name", self.run_huf("doctor").output)
		site.write_config(folder, {**before, "host_name": "https://huf.example.com"})
		self.assertIn("lead to https://huf.example.com\n", self.run_huf("doctor").output)

	def test_two_imports_of_a_pack_at_once_follow_one_another(self):
		folder = self.home / "twin"
		folder.mkdir()
		(folder / "pack.yaml").write_text('pack: twin\ntitle: Twin\nversion: "1"\nroles: [Twin]\n')
		plant = {"doctype": "DocType", "name": "Twin Plant", "module": "Huf", "custom": 1}
		plant |= {"fields": [{"fieldname": "height", "fieldtype": "Int", "label": "Height"}]}
		(folder / "doctypes.json").write_text(json.dumps([plant]))
		(folder / "records.json").write_text(json.dumps([{"doctype": "Twin Plant", "height": 1}]))
		command = [sys.executable, "-m", "huf.embedded", "--home", str(self.home), "import", str(folder)]
		both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
		told = sorted(process.communicate(timeout=120)[0] for process in both)
		self.assertIn("New: Role Twin\nNew: DocType Twin Plant\nNew: Twin Plant ", told[0])
		self.assertEqual(told[1], "twin 1 is as it was: nothing to change.\n")
		self.assertEqual(self.run_huf("remove", "twin").exit_code, 0)

	def test_a_second_export_keeps_what_people_wrote_in_the_manifest(self):
		folder = self.home / "second_export"
		words, role = ("export", str(folder), "--agent", make_agent()), make_role()
		frappe.db.commit()
		self.assertNotIn("still", self.run_huf(*words).stdout)
		manifest = folder / "pack.yaml"
		head = {"pack": "my_garden", "title": "Garden", "version": "1.4", "description": "For all: of us"}
		head |= {"roles": [role, "No Such Role"]}
		manifest.write_text(yaml.safe_dump({**yaml.safe_load(manifest.read_text()), **head}))
		self.assertIn("The version is still 1.4. Set a new one with --version.", self.run_huf(*words).stdout)
		found = yaml.safe_load(manifest.read_text())
		head["roles"].pop()
		self.assertEqual({key: found[key] for key in head}, head)
		self.assertNotIn("still", self.run_huf(*words, "--version", "1.5").stdout)
		self.assertEqual(yaml.safe_load(manifest.read_text()), {**found, "version": "1.5"})
		manifest.write_text("pack: [")
		self.assert_refused(self.run_huf(*words), "Correct or delete it. pack.yaml: Line 1")
		self.assertEqual(manifest.read_text(), "pack: [")

	def test_an_export_refuses_a_folder_with_records_of_another_export(self):
		agent, folder = make_agent(), self.home / "my_pack"
		folder.mkdir()
		(folder / "records.json").write_text("[]")
		words = ("export", str(folder), "--agent", agent)
		self.assert_refused(self.run_huf(*words), "records.json")
		self.assertFalse((folder / "pack.yaml").exists())
		(folder / "records.json").unlink()
		for _ in range(2):
			self.assertEqual(self.run_huf(*words).exit_code, 0)

	def test_imports_of_binary_files_are_refused_with_the_file_name(self):
		file = self.home / "picture.json"
		file.write_bytes(b"\xff\xfe\x00")
		for words in (("import",), ("import-agent",), ("import-openapi",), ("router", "eval")):
			self.assert_refused(self.run_huf(*words, str(file)), f"{file} is not text in UTF-8.")

	def test_import_of_a_missing_file_or_pack_is_refused_with_its_name(self):
		for name in ("nowhere.yaml", "no/where"):
			self.assert_refused(self.run_huf("import", name), f"There is no file or folder {name}.")
		self.assert_refused(self.run_huf("import", "nothing"), "There is no pack 'nothing'")

	def test_undo_without_permission_says_why(self):
		agent = make_agent(tools=(make_tool("Create Document", reference_doctype="ToDo"),))
		run = run_agent_sync(agent, "Create a todo to call Anna")["run"]
		user = make_user("Huf User")
		frappe.db.commit()
		self.assert_refused(self.run_huf("undo", run, "--user", user), "permission", "Agent Run")

	def test_undo_names_a_document_that_has_changed_since(self):
		agent = make_agent(tools=(make_tool("Create Document", reference_doctype="ToDo"),))
		run = run_agent_sync(agent, "Create a todo to call Anna")["run"]
		todo = frappe.get_last_doc("ToDo")
		todo.priority = "High"
		todo.save()
		frappe.db.commit()
		kept = f"kept: ToDo {todo.name}, changed by Administrator since\n"
		self.assertIn(kept, self.run_huf("undo", run).output)

	def test_undo_says_what_a_restored_document_does_not_get_back(self):
		agent = make_agent(tools=(make_tool("Create Document", reference_doctype="ToDo"),))
		run = run_agent_sync(agent, "Create a todo to call Anna")["run"]
		todo = frappe.get_last_doc("ToDo").name
		undone = re.search(r"Undone by (\w+)", self.run_huf("undo", run, "--yes").output)[1]
		self.assertIn(
			f"note: ToDo {todo}: Comments, to-dos, shares and facts", self.run_huf("undo", undone).output
		)

	def test_undo_names_missing_options_and_release_reverts_stop(self):
		self.assert_refused(self.run_huf("undo"), "--agent")
		self.assert_refused(self.run_huf("undo", "--agent", "Planner"), "--since")
		missing = self.run_huf("undo", "--agent", "Nope", "--since", "2026-11-22")
		self.assert_refused(missing, "There is no agent 'Nope'.")
		self.assertIn("Nothing is stopped.", self.run_huf("release").output)
		# As with "$AGENT" in a script, where the variable is not set.
		self.assert_refused(self.run_huf("stop", ""), "--agent")
		self.assert_refused(self.run_huf("stop", "--agent", ""), "agent")
		self.assertIn("Nothing is stopped.", self.run_huf("release").output)
		self.assertRegex(self.run_huf("stop").output, "^Stopped. `huf release .+` resumes.\n$")
		self.assertRegex(
			self.run_huf("doctor").output, r"stops +Everything was stopped.*\(huf release .+\)\n"
		)
		self.assert_refused(self.run_huf("release", ""), "There is no stop")
		self.assertIn("Released", self.run_huf("release").output)
