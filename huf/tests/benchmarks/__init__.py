"""Benchmarks: `scripts/bench` prints their figures, mostly as ratios within one run."""
