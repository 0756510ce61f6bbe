"""Compares the outcome of each attack with that on a bench: what Frappe refuses must not be allowed here.

`answers_of_frappe.json` was recorded by `attacks.py --record` on a served bench.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

RECORDED = Path(__file__).with_name("answers_of_frappe.json")
EFFECT = "2xx effect"
"""The request succeeded and found, changed or executed something."""
MAX_UNKNOWN = 100
Tree = dict[str, dict[str, dict[str, dict[str, str]]]]


class Answers:
	"""{kind: {target: {"who METHOD": {variant: outcome}}}}; an outcome is a class of status, or EFFECT."""

	def __init__(self):
		self.tree: Tree = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
		self.counts: Counter = Counter()

	def add(self, kind: str, target: str, actor: str, variant: str, status: int, has_effect: bool) -> None:
		outcome = EFFECT if has_effect and 200 <= status < 300 else f"{status // 100}xx"
		variants = self.tree[kind][target][actor]
		variants[variant] = EFFECT if variants.get(variant) == EFFECT else outcome
		self.counts[f"{kind}: {outcome}"] += 1

	def list_attacks(self) -> Iterator[tuple[str, str, str, str, str]]:
		"""(kind, target, actor, variant, outcome) of each attack."""
		for kind, targets in self.tree.items():
			for target, actors in targets.items():
				for actor, variants in actors.items():
					for variant, outcome in variants.items():
						yield kind, target, actor, variant, outcome

	def write(self, version: str) -> None:
		"""Record the outcomes; variants not listed have the most common outcome of the actor at a target."""
		tree = {
			kind: {
				target: {actor: shorten(variants) for actor, variants in actors.items()}
				for target, actors in targets.items()
			}
			for kind, targets in self.tree.items()
		}
		text = json.dumps(
			{"frappe": version, "counts": self.counts, "answers": tree}, indent=1, sort_keys=True
		)
		RECORDED.write_text(text + "\n")


def shorten(variants: dict[str, str]) -> dict[str, str | list[str]]:
	usual = Counter(variants.values()).most_common(1)[0][0]
	others = defaultdict(list)
	for variant, outcome in variants.items():
		if outcome != usual:
			others[outcome].append(variant)
	return {"": usual, **others}


def compare(answers: Answers) -> list[str]:
	"""Returns a sentence for each attack that had an effect here and none on the bench.

	Prints endpoints and fields that are newer than the record; more than MAX_UNKNOWN are a failure.
	"""
	recorded = json.loads(RECORDED.read_text())["answers"]
	failures, unknown = [], []
	for kind, target, actor, variant, outcome in answers.list_attacks():
		attack = f"{kind} {target} {actor} {variant}".rstrip()
		known = recorded.get(kind, {}).get(target, {}).get(actor)
		if known is None:
			unknown.append(attack)
		elif outcome == EFFECT != (recorded_outcome := read_outcome(known, variant)):
			failures.append(f"{attack}: allowed here, {recorded_outcome} on a bench")
	print("\n".join(f"{attack}: not recorded" for attack in unknown))
	if len(unknown) > MAX_UNKNOWN:
		failures.append(f"{len(unknown)} attacks are not recorded. Run attacks.py --record against a bench.")
	return failures


def read_outcome(known: dict[str, str | list[str]], variant: str) -> str:
	named = (outcome for outcome, variants in known.items() if outcome and variant in variants)
	return next(named, known[""])
