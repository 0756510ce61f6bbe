"""Public names of the scheduled jobs that `hooks.py` lists for triggers."""

from huf.ai.triggers.schedules import clear_old_events, run_due_triggers

__all__ = ["clear_old_events", "run_due_triggers"]
