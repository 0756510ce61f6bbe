"""Sends queued mails by SMTP, each once. Retries while the server is unreachable or asks for it.

A mail is marked before it is handed to the server. If the worker dies in between, or the server does not
answer a whole mail, its fate is unknown: the row says so, and it is not sent again.
"""

import contextlib
import datetime
import smtplib
import ssl
import time
from email.message import EmailMessage
from email.parser import Parser
from email.policy import SMTP
from email.utils import formatdate, make_msgid, parseaddr

import frappe
from frappe.utils import add_to_date, now, now_datetime

RETRY_MINUTES = (1, 5, 30)
SENDING_TIMEOUT_S = 600
FLUSH_S = 120
"""Well below the time-out of a job, which would leave the mail that it interrupts in an unknown state."""
TIMEOUT = 30
ANSWER_TIMEOUT = 120
"""How long to wait for the answer to a whole mail, which many servers check for viruses first."""
REFUSED = ("args", "as_markdown", "attachments", "bcc", "inline_images", "template")
"""Options of Frappe without which another mail would be sent."""
KEPT = ("reference_doctype", "reference_name", "send_after")
"""Options that become fields of the queue's row."""
UNANSWERED = "The server did not confirm that it took the mail. It may or may not have been sent."


class Transfer(smtplib.SMTP):
	"""A connection that knows whether the server has a whole mail and has not answered it."""

	is_unanswered = False

	def send(self, s) -> None:
		super().send(s)
		if isinstance(s, bytes) and s.endswith(b"\r\n.\r\n"):
			self.is_unanswered = True
			self.sock.settimeout(ANSWER_TIMEOUT)

	def data(self, msg) -> tuple[int, bytes]:
		answer = super().data(msg)
		self.is_unanswered = False
		self.sock.settimeout(TIMEOUT)
		return answer

	def __exit__(self, *_):
		# A server that fails to answer QUIT has accepted the mails.
		with contextlib.suppress(OSError, smtplib.SMTPException):
			self.quit()
		self.close()


class SecureTransfer(Transfer, smtplib.SMTP_SSL):
	pass


def sendmail(
	recipients=None,
	sender="",
	subject="No Subject",
	message="No Message",
	content=None,
	cc=None,
	reply_to=None,
	**options,
):
	"""Queue an HTML mail. Returns the Email Queue row.

	Of Frappe's other options, in_reply_to, message_id, reference_doctype, reference_name and send_after are
	supported. Raises NotImplementedError for those that would change the mail.
	"""
	if refused := [each for each in REFUSED if options.get(each)]:
		raise NotImplementedError(
			f"sendmail({', '.join(refused)}) is not part of embedded mode: see huf/embedded/README.md"
		)
	account = find_account(sender)
	sender = sender or (account and account.email_id) or "Administrator <noreply@localhost>"
	to, cc = as_list(recipients), as_list(cc)
	headers = {
		"From": sender,
		"To": ", ".join(to),
		"Subject": " ".join(subject.split()),
		"Date": formatdate(localtime=True),
		"Message-Id": options.get("message_id") or make_msgid(),
		"Cc": ", ".join(cc) or None,
		"Reply-To": reply_to or None,
		"In-Reply-To": options.get("in_reply_to") or None,
	}
	mail = compose(headers, content or message)
	row = {
		"doctype": "Email Queue",
		"sender": sender,
		"message": mail.as_string(),
		"message_id": mail["Message-Id"].strip("<>"),
		"recipients": [{"recipient": each, "status": "Not Sent"} for each in (*to, *cc)],
		**{key: options[key] for key in KEPT if options.get(key)},
	}
	return frappe.get_doc(row).insert(ignore_permissions=True)


def compose(headers: dict[str, str | None], content: str) -> EmailMessage:
	mail = EmailMessage(policy=SMTP)
	for header, value in headers.items():
		if value is not None:
			mail[header] = value
	mail.set_content(content, subtype="html")
	return mail


def as_list(addresses) -> list[str]:
	parts = addresses.split(",") if isinstance(addresses, str) else addresses or []
	return [part.strip() for part in parts if part.strip()]


def find_account(sender: str | None):
	"""The outgoing Email Account of an address, else the default one, else None."""
	address = parseaddr(sender or "")[1]
	for filters in ({"email_id": address}, {"default_outgoing": 1}):
		if name := frappe.db.get_value("Email Account", {"enable_outgoing": 1, **filters}):
			return frappe.get_doc("Email Account", name)
	return None


def flush(moment: datetime.datetime | None = None) -> int:
	"""Send due mails. Returns their number.

	Called every minute, and after each commit that queued a mail.
	"""
	moment, sent = moment or now_datetime(), 0
	give_up_unknown(moment)
	end = time.monotonic() + FLUSH_S
	for name in due(moment):
		if time.monotonic() > end:
			break  # the next minute's job goes on
		if claim(name):
			sent += send(name, moment)
	return sent


def due(moment) -> list[str]:
	return frappe.db.sql(
		"""select name from `tabEmail Queue` where status in ('Not Sent', 'Partially Sent')
		and (send_after is null or send_after <= %s) order by priority desc, creation limit 500""",
		(moment,),
		pluck=True,
	)


def claim(name: str) -> bool:
	"""Claim a mail for sending by this worker. Commits."""
	mark = now()
	frappe.db.sql(
		"""update `tabEmail Queue` set status = 'Sending', modified = %s
		where name = %s and status in ('Not Sent', 'Partially Sent')""",
		(mark, name),
	)
	mine = frappe.db.sql(
		"select 1 from `tabEmail Queue` where name = %s and modified = %s and status = 'Sending'",
		(name, mark),
	)
	frappe.db.commit()
	return bool(mine)


def send(name: str, moment) -> bool:
	doc = frappe.get_doc("Email Queue", name)
	frappe.db.commit()
	account = find_account(doc.sender)
	if not account:
		finish(name, status="Error", error="There is no Email Account to send by")
		return False
	server: Transfer | None = None
	refusals: list[Exception] = []
	try:
		with connect(account) as server:
			for each in doc.recipients:
				if each.status != "Sent":
					try:
						deliver(server, doc, each)
					except (smtplib.SMTPRecipientsRefused, UnicodeError) as error:
						refusals.append(error)
	except (OSError, UnicodeError, smtplib.SMTPException) as error:
		refusals.append(error)
	if server and server.is_unanswered:
		finish(name, status="Error", error=UNANSWERED)
		return False
	if refusals:
		fail(doc, refusals, moment)
		return False
	finish(name, status="Sent", error=None)
	return True


def deliver(server: Transfer, doc, recipient) -> None:
	mail = Parser(policy=SMTP).parsestr(doc.message)
	server.sendmail(parseaddr(doc.sender)[1] or doc.sender, [recipient.recipient], mail.as_bytes())
	frappe.db.set_value("Email Queue Recipient", recipient.name, "status", "Sent")
	# Its time of change shows `give_up_unknown` that this worker lives.
	frappe.db.set_value("Email Queue", doc.name, "status", "Sending")
	frappe.db.commit()


def connect(account) -> Transfer:
	host, port = account.smtp_server, int(account.smtp_port or 0)
	if account.use_ssl_for_outgoing:
		server: Transfer = SecureTransfer(
			host, port or 465, timeout=TIMEOUT, context=ssl.create_default_context()
		)
	else:
		server = Transfer(host, port or 587, timeout=TIMEOUT)
		if account.use_tls:
			server.starttls(context=ssl.create_default_context())
	sign_in(server, account)
	return server


def sign_in(server: smtplib.SMTP, account) -> None:
	user = account.login_id or account.email_id
	try:
		secret = read_secret(account)
	except Exception as error:  # whatever the site's key, its records or the provider refuse
		raise OSError(str(error) or type(error).__name__) from error
	if account.auth_method == "OAuth":
		answer = f"user={user}\1auth=Bearer {secret}\1\1"
		server.ehlo()
		server.auth("XOAUTH2", lambda challenge=None: answer, initial_response_ok=False)
	# Like Frappe, whatever `no_smtp_authentication` says: it only allows the password to be left out.
	elif secret:
		server.login(user, secret)


def read_secret(account) -> str | None:
	"""The account's access token or password."""
	if account.auth_method != "OAuth":
		return account.get_password("password", raise_exception=False)
	if cache := account.get_oauth_token():
		return cache.get_password("access_token")
	raise OSError(f"Please Authorize OAuth for Email Account {account.name}")


def is_final(refusal: Exception) -> bool:
	"""Whether another attempt would end the same way. A person may soon correct a login, but not a mail."""
	if isinstance(refusal, smtplib.SMTPRecipientsRefused):
		return all(code >= 500 for code, _answer in refusal.recipients.values())
	if isinstance(refusal, smtplib.SMTPDataError):
		return refusal.smtp_code >= 500
	return isinstance(refusal, UnicodeError)  # no host can have this name, no server this recipient


def fail(doc, refusals: list[Exception], moment) -> None:
	frappe.db.rollback()
	error = "; ".join(map(describe_refusal, refusals))
	if doc.retry < len(RETRY_MINUTES) and not all(map(is_final, refusals)):
		later = add_to_date(moment, minutes=RETRY_MINUTES[doc.retry], as_datetime=True)
		some = frappe.db.count("Email Queue Recipient", {"parent": doc.name, "status": "Sent"})
		status = "Partially Sent" if some else "Not Sent"
		finish(doc.name, status=status, retry=doc.retry + 1, send_after=later, error=error)
	else:
		finish(doc.name, status="Error", error=error)


def describe_refusal(refusal: Exception) -> str:
	"""The words of the server, which smtplib shows as bytes, or what is wrong with an address."""
	if isinstance(refusal, smtplib.SMTPRecipientsRefused):
		return "; ".join(f"{to}: {write_answer(*answer)}" for to, answer in refusal.recipients.items())
	if isinstance(refusal, smtplib.SMTPResponseException):
		return write_answer(refusal.smtp_code, refusal.smtp_error)
	if isinstance(refusal, UnicodeError):
		return f"The SMTP server or a recipient has an address that cannot be used: {refusal}"
	return str(refusal)


def write_answer(code: int, answer: bytes | str) -> str:
	return f"{code} {answer if isinstance(answer, str) else answer.decode(errors='replace')}"


def finish(name: str, **values) -> None:
	frappe.db.set_value("Email Queue", name, values)
	frappe.db.commit()


def give_up_unknown(moment) -> None:
	"""Mark mails whose worker died while handing them to a server."""
	before = add_to_date(moment, seconds=-SENDING_TIMEOUT_S, as_datetime=True)
	error = "The worker stopped while sending. The mail may or may not have been sent."
	frappe.db.sql(
		"update `tabEmail Queue` set status = 'Error', error = %s where status = 'Sending' and modified < %s",
		(error, before),
	)
	frappe.db.commit()
