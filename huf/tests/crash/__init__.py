"""Workers killed with kill -9 at every commit of a run, and what the next worker makes of it."""
