"""Workers are killed with SIGKILL at every commit of a run, and another worker completes the run."""
