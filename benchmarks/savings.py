"""What each saving of time is worth and what it costs: docs/results/savings.md.

Every line is the default fit with one saving taken back, or with one that was rejected
put in: seconds as a multiple of the default's in the same run, and the error, means
over seeds. With Python: ``python benchmarks/savings.py``; on a quiet machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits

from ekss import EKSS, KSSMember
from ekss.benchmarks._versions import (
    code_of,
    libraries_in,
    provenance,
    version_line,
)
from ekss.core import ksubspaces
from ekss.datasets import make_union_of_subspaces
from ekss.ensemble import chain, decide, settle, vote, whiten
from ekss.ensemble.choose import choose, gather_evidence
from ekss.ensemble.cut import cut
from ekss.metrics import clustering_error
from ekss.runtime.workers import Workers
from speed import faces

PAGE = Path(__file__).parents[1] / "docs" / "results" / "savings.md"
SEEDS = range(3)


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    digits = load_digits()
    small = make_union_of_subspaces(
        3, 4, n_features=30, n_per_subspace=100, noise=0.5, random_state=0
    )
    return {
        "300 x 30, K=3": (small.data, small.target),
        "digits": (digits.data, digits.target),
        "400 x 1024, K=40": (faces(), np.repeat(range(40), 10)),
    }


def all_graphs(plan: Any, wishes: Any, seed: int, half: Any, rows: Any) -> Any:
    """Cluster by some members as the whole will be, by the best cut of all graphs."""
    counts = decide.neighbor_counts(len(rows), plan.n_clusters)
    tasks = [(min(q, len(rows) - 1), plan.n_clusters) for q in counts]
    cuts = cut(wishes.cut.votes(half), tasks, wishes.cut, seed, Workers(1))
    evidence = gather_evidence(plan, half.labels, plan.seen.take(rows))
    chosen = choose(cuts, evidence, wishes.cut.score, Workers(1))
    return None if chosen is None else chosen.labels


def in_double(points: Any, n_clusters: int, span: int, dtype: Any = None) -> Any:
    return leading_coordinates(points, n_clusters, span)


leading_coordinates = decide.leading_coordinates
try_whitening = whiten.try_whitening


@contextmanager
def members_twice() -> Iterator[None]:
    """Run the members of the trial once more for the fit."""

    def forget(*args: Any) -> Any:
        return replace(try_whitening(*args), ensemble=None)

    with patch.object(settle, "try_whitening", forget):
        yield


def rules(module: Any, name: str, **changes: Any) -> Any:
    return patch.object(module, name, replace(getattr(module, name), **changes))


def cases() -> dict[str, tuple[Callable[[], Any], KSSMember]]:
    plain = KSSMember()
    return {
        "the default": (nullcontext, plain),
        "taken back: float32 inside": (
            partial(patch.object, decide, "leading_coordinates", in_double),
            plain,
        ),
        "taken back: members side by side": (
            partial(patch.object, ksubspaces, "_MOST_AT_ONCE", 1),
            plain,
        ),
        "taken back: trials begin with few members": (
            partial(rules, whiten, "WHITENING", members=(100,)),
            plain,
        ),
        "taken back: members of the trial count": (members_twice, plain),
        "taken back: halves by one graph": (
            partial(patch.object, chain, "_cluster_some", all_graphs),
            plain,
        ),
        "taken back: 200 members if halves agree on 75 %": (
            partial(rules, vote, "RULES", agreed=(0.97, 0.97)),
            plain,
        ),
        "rejected: three iterations": (nullcontext, KSSMember(max_iter=3)),
        "rejected: 50 members at most": (
            partial(patch.object, chain, "RULES", replace(vote.RULES, steps=(50,))),
            plain,
        ),
    }


def measure(
    X: np.ndarray, target: np.ndarray, how: Callable[[], Any], member: KSSMember
) -> tuple[float, float]:
    """Return mean seconds and mean error in percent."""
    n_clusters, spent, errors = len(np.unique(target)), [], []
    for seed in SEEDS:
        model = EKSS(n_clusters, member=member, random_state=seed, n_jobs=2)
        with how():
            start = time.perf_counter()
            labels = model.fit_predict(X)
            spent.append(time.perf_counter() - start)
        errors.append(100 * clustering_error(target, labels))
    return float(np.mean(spent)), float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PAGE)
    output = parser.parse_args().output
    sets, variants = data_sets(), cases()
    lines: dict[str, list[str]] = {name: [] for name in variants}
    for X, target in sets.values():
        for how, member in list(variants.values())[:2]:  # compile
            measure(X, target, how, member)
        reference = None
        for name, (how, member) in variants.items():
            spent, error = measure(X, target, how, member)
            reference = reference or spent
            lines[name] += [f"{spent / reference:.2f}", f"{error:.2f}"]
            print(name, f"{spent:.2f} s, {error:.2f} %", flush=True)
    made = provenance()
    head = [f"{name}: time | error %" for name in sets]
    page = [
        "# What each saving of time is worth",
        "",
        version_line([code_of()] * len(lines), [libraries_in(made)], what="lines"),
        f"Commit {made['commit']}; {libraries_in(made)}.",
        "",
        "Made by `python benchmarks/savings.py`: 2 workers, means over seeds "
        f"{SEEDS[0]} to {SEEDS[-1]}. Times are multiples of the default's in the same "
        "run, so more than 1 is what a saving saves. What was rejected, and why, is in "
        "the [experiment log](../experiments.md#how-many-members-how-many-iterations).",
        "",
        "| | " + " | ".join(head) + " |",
        "|---" + "|---:" * (2 * len(sets)) + "|",
        *(f"| {name} | " + " | ".join(cells) + " |" for name, cells in lines.items()),
        "",
    ]
    output.write_text("\n".join(page))


if __name__ == "__main__":
    main()
