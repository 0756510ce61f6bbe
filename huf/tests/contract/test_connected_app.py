"""Connected App: its authorization flow and a user's tokens, against a real authorization server."""

from urllib.parse import parse_qs, urlsplit

import frappe

from huf.tests.authorization_server import CLIENT, AuthorizationServer
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make, make_user, unique


class TestConnectedApp(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.server = enter(self, AuthorizationServer("office"))
		self.app = make("Connected App", provider_name=unique("Provider"), **self.server.settings)
		self.user = make_user("Huf User")

	def test_the_authorization_flow_stores_its_state_for_the_callback(self):
		address = urlsplit(self.app.initiate_web_application_flow(self.user, "/huf/mail"))
		query = {key: value for key, (value,) in parse_qs(address.query).items()}
		cache = self.app.get_token_cache(self.user)
		self.assertEqual(cache.name, f"{self.app.name}-{self.user}")
		self.assertEqual((cache.state, cache.success_uri), (query["state"], "/huf/mail"))
		self.assertEqual((query["client_id"], query["scope"]), (CLIENT, "mail"))
		self.assertEqual((query["redirect_uri"], query["response_type"]), (self.app.redirect_uri, "code"))
		end = f"/api/method/frappe.integrations.doctype.connected_app.connected_app.callback/{self.app.name}"
		self.assertTrue(self.app.redirect_uri.endswith(end))
		self.assertFalse(cache.is_expired() and cache.get_password("access_token", False))

	def test_a_valid_token_is_not_refreshed(self):
		self.store("a", expires_in=3600)
		cache = self.app.get_active_token(self.user)
		self.assertEqual(cache.get_password("access_token"), "a")
		self.assertEqual(cache.get_auth_header(), {"Authorization": "Bearer a"})
		self.assertEqual((cache.token_type, cache.state), ("Bearer", None))
		self.assertEqual([row.scope for row in cache.scopes], ["mail", "offline"])
		self.assertEqual(self.server.grants.refreshed, 0)

	def test_an_expired_token_is_refreshed(self):
		self.server.grants.refresh_tokens.add("r")
		self.store("a", expires_in=-5, refresh_token="r")
		cache = self.app.get_active_token(self.user)
		token = cache.get_password("access_token")
		self.assertNotEqual(token, "a")
		self.assertTrue(self.server.grants.is_valid(token))
		self.assertFalse(cache.is_expired())
		self.assertIn(cache.get_password("refresh_token"), self.server.grants.refresh_tokens)

	def test_get_active_token_returns_none_if_the_refresh_fails(self):
		self.store("a", expires_in=-5, refresh_token="unknown")
		self.assertIsNone(self.app.get_active_token(self.user))
		self.assertIsNone(self.app.get_active_token("Guest"))

	def test_token_types_other_than_bearer_are_refused(self):
		with self.assertRaises(frappe.ValidationError):
			self.store("a", token_type="cookie")

	def store(self, token: str, **values) -> None:
		if not self.app.get_token_cache(self.user):
			self.app.initiate_web_application_flow(self.user)
		response = {"access_token": token, "token_type": "bearer", "scope": "mail offline", **values}
		self.app.get_token_cache(self.user).update_data(response)
