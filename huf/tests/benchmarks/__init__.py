"""Figures, not tests: `scripts/bench` prints them, each as a ratio of two things done in one run."""
