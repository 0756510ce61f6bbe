"""Goals of the `load` benchmarks; each prints a line with its figure and whether the goal is met."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
	"""The limit of a figure: a maximum, or a minimum if `is_least`."""

	row: str
	limit: float
	unit: str = ""
	is_least: bool = False
	leaves_out: str = ""

	def print(self, figure: float, note: str = "") -> None:
		is_met = figure >= self.limit if self.is_least else figure <= self.limit
		sign, verdict = ("at least", "at most")[not self.is_least], "met" if is_met else "missed"
		value = f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"
		print(f"  {self.row:54}{value:>9} {self.unit:7} {sign} {self.limit:<7g}{verdict:8}{note}", flush=True)
		if self.leaves_out:
			print(f"      leaves out: {self.leaves_out}")


def print_missing(row: str, reason: str) -> None:
	print(f"  {row:54}{'':9} not measured: {reason}")
