"""Public names of the mailbox jobs that `hooks.py` lists and the queue runs."""

from huf.ai.mail.intake import poll_mailboxes, sync_mailbox, take_communication

__all__ = ["poll_mailboxes", "sync_mailbox", "take_communication"]
