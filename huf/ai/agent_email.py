"""Public names of the mailbox jobs that `hooks.py` lists and the queue runs."""

from huf.ai.mail.communications import take_communication
from huf.ai.mail.intake import poll_mailboxes
from huf.ai.mail.intake import read_mailbox_once as sync_mailbox

__all__ = ["poll_mailboxes", "sync_mailbox", "take_communication"]
