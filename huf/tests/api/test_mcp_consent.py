"""The consent page that asks whether a program may act as the signed-in user."""

import requests

from huf.tests.api.test_mcp_oauth import RETURN, OAuthTestCase


class TestConsentPage(OAuthTestCase):
	def test_a_refused_request_leads_to_another_site_only_by_a_link(self):
		for uri in ("https://evil.example/sign-in", "evilapp:/sign-in"):
			values = {"redirect_uris": [uri], "token_endpoint_auth_method": "none"}
			client = requests.post(f"{self.base}/mcp-oauth/register", json=values).json()["client_id"]
			asked = {"client_id": client, "redirect_uri": uri, "response_type": "code", "state": "s"}
			page = requests.get(f"{self.base}/mcp-oauth/authorize", asked, allow_redirects=False)
			self.assertEqual(page.status_code, 400)
			self.assertNotIn("Location", page.headers)
			self.assertIn(f'href="{uri}?error=invalid_request&amp;', page.text)

	def test_consent_page_names_a_host_only_if_https_vouches_for_it(self):
		browser = self.sign_in()
		for uri, shown in (
			("https://claude.example/cb", " claude.example."),
			("evilapp://claude.example/cb", " evilapp://claude.example."),
			("evilapp:/claude.example", " evilapp:."),
			(RETURN, " http://127.0.0.1:9."),
		):
			values = {"redirect_uris": [uri], "token_endpoint_auth_method": "none"}
			client = requests.post(f"{self.base}/mcp-oauth/register", json=values).json()["client_id"]
			asked = {"client_id": client, "redirect_uri": uri, "response_type": "code"}
			asked |= {"code_challenge": "c" * 43, "code_challenge_method": "S256"}
			page = browser.get(f"{self.base}/mcp-oauth/authorize", params=asked)
			self.assertIn(f"The access goes to{shown}", page.text)
			# The address holds the program's request.
			self.assertEqual(page.headers["Referrer-Policy"], "no-referrer")
			self.assertEqual(page.headers["Cache-Control"], "no-store")
