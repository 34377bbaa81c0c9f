"""What a cluster of a table is: its columns, its equations, its typical rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ekss.report import _figures as fig
from ekss.report._figures import Floats, Ints
from ekss.report._fitted import Inputs
from ekss.report._geometry import Fit, at_most
from ekss.report._page import Panel, part, rows_at_once
from ekss.report._relations import Relation, relations_of
from ekss.words import listed, number

if TYPE_CHECKING:
    from ekss.report._facts import Facts

MOST_COLUMNS = 100  # of a table that is explained; more are pixels or spectra
SHOWN_ROWS = 5  # typical and doubtful rows of a cluster that are named
_SHOWN_COLUMNS = 3  # by which a cluster stands out
_SHOWN_EQUATIONS = 8  # of a cluster; the shortest and most exact come first
_STANDS_OUT = 0.8  # difference of means in standard deviations: large by custom
_SAME = 0.5  # ... and up to this, clusters are about the same
_STRONGEST = 2.5  # differences of as many standard deviations have the full colour
_TRUSTED = 0.9  # share of a cluster's rows by which its equations are found
_MOST_ROWS = 2000  # of a cluster, from which the parts of a subspace are measured
_TIMES, _MINUS = "\u00d7", "\u2212"
# A unit in brackets at the end of a name, as in "pressure (bar)" or "t [s]".
_UNIT = re.compile(r"^(.*\S)\s*[(\[]([^()\[\]]{1,12})[)\]]$")


@dataclass(frozen=True)
class Columns:
    """Columns of a table against the clusters, in the units of the data."""

    names: tuple[str, ...]
    units: tuple[str, ...]  # empty where the name has none
    means: Floats  # (n_clusters, n_columns)
    elsewhere: Floats  # (n_clusters, n_columns): means of the other rows
    spreads: Floats  # (n_columns,): standard deviations over all rows
    # (n_clusters, n_columns): difference of the two means in standard deviations
    # inside clusters
    effects: Floats
    apart: Floats  # (n_columns,): share of the variance that lies between clusters
    # (n_clusters, n_columns): share of a subspace's energy in each column; None where
    # the method saw other features
    loadings: Floats | None
    relations: tuple[tuple[Relation, ...], ...]  # of each cluster
    everywhere: tuple[Relation, ...]  # equations of all rows

    @property
    def idle(self) -> list[int]:
        """Columns in no equation of a cluster, and about the same in all clusters."""
        used = {
            column
            for relations in self.relations
            for relation in relations
            for column in (relation.column, *(c for c, _ in relation.terms))
        }
        same = np.abs(self.effects).max(axis=0) < _SAME
        return [j for j in range(len(self.names)) if same[j] and j not in used]

    def stands_out(self, k: int) -> list[int]:
        """Columns whose mean in a cluster differs most from that of the other rows."""
        order = np.argsort(-np.abs(self.effects[k]), kind="stable")
        return [j for j in order if abs(self.effects[k, j]) >= _STANDS_OUT]

    def value(self, j: int, value: float) -> str:
        """Write a value of a column with its unit."""
        return f"{number(value)} {self.units[j]}".rstrip()

    def sentence(self, relation: Relation, names: Sequence[str]) -> str:
        """Put an equation into words; ``names`` are those of the clusters."""
        spread = self.spreads[relation.column] or 1.0
        words = (
            f"{self.names[relation.column]} is about {self._formula(relation)}, to "
            f"{_share(relation.error / spread)}"
        )
        if relation.elsewhere is not None:
            words += f" (elsewhere off by {_share(relation.elsewhere / spread)})"
        if relation.also:
            also = [names[k] for k in relation.also]
            words += f"; so in cluster{'s' * (len(also) > 1)} {listed(also)}"
        return words

    def _formula(self, relation: Relation) -> str:
        """Write the right-hand side, a positive part first where there is one."""
        parts = [
            (factor, self.names[column])
            if abs(factor) == 1
            else (factor, f"{_plain(abs(factor))} {_TIMES} {self.names[column]}")
            for column, factor in relation.terms
        ]
        if relation.constant or not parts:
            unit = self.units[relation.column]
            shown = f"{_plain(abs(relation.constant))} {unit}".rstrip()
            parts.append((relation.constant, shown))
        parts.sort(key=lambda signed: signed[0] < 0)
        first, *others = parts
        words = (_MINUS if first[0] < 0 else "") + first[1]
        return words + "".join(f" {_MINUS if s < 0 else '+'} {w}" for s, w in others)


def columns_of(inputs: Inputs, fit: Fit, doubts: tuple[Ints, Floats]) -> Columns | None:
    """Compare the columns of a table over the clusters; None for anything else.

    ``doubts`` are rows that were measured, and how doubtful each of them is.
    """
    rows = inputs.shown
    pictured = inputs.image_shape is not None or inputs.n_frames is not None
    if pictured or rows.shape[1] > MOST_COLUMNS:
        return None
    rows = rows.astype(np.float64)
    names = inputs.feature_names
    if names is None or len(names) != rows.shape[1]:
        names = tuple(f"column {j}" for j in range(rows.shape[1]))
    split = [_UNIT.match(name) for name in names]
    short = tuple(m[1] if m else name for m, name in zip(split, names, strict=True))
    units = tuple(m[2] if m else "" for m in split)
    if len(set(short)) < len(short):  # told apart by their units alone
        short, units = names, ("",) * len(names)
    k, codes, sizes = inputs.n_clusters, inputs.codes, inputs.sizes
    means = np.stack([np.nanmean(rows[codes == c], axis=0) for c in range(k)])
    overall = np.nanmean(rows, axis=0)
    others = (len(rows) - sizes)[:, None]
    elsewhere = (len(rows) * overall - sizes[:, None] * means) / np.maximum(others, 1)
    elsewhere = np.where(others > 0, elsewhere, means)
    inside = np.sqrt(np.nanmean((rows - means[codes]) ** 2, axis=0))
    spreads = np.nanstd(rows, axis=0)
    # Columns that are constant in every cluster still differ by a finite number.
    floor = np.where(spreads > 0, 1e-3 * spreads, 1.0)
    variance = np.where(spreads > 0, spreads, 1.0) ** 2
    complete = np.isfinite(rows).all(axis=1)
    trusted = _trusted(codes, k, *doubts)
    *relations, everywhere = relations_of(
        rows[complete], codes[complete], k, trusted[complete]
    )
    return Columns(
        short,
        units,
        means,
        elsewhere,
        spreads,
        (means - elsewhere) / np.maximum(inside, floor),
        np.clip(1 - inside**2 / variance, 0, 1) * (spreads > 0),
        _loadings(inputs, fit),
        tuple(map(tuple, relations)),
        tuple(everywhere),
    )


def _trusted(
    codes: Ints, n_clusters: int, measured: Ints, doubts: Floats
) -> NDArray[np.bool_]:
    """Rows that are not among the most doubtful of their cluster."""
    trusted = np.zeros(len(codes), bool)
    for k in range(n_clusters):
        mine = codes[measured] == k
        if mine.any():
            limit = np.quantile(doubts[mine], _TRUSTED)
            trusted[measured[mine & (doubts <= limit)]] = True
    return trusted


def _loadings(inputs: Inputs, fit: Fit) -> Floats | None:
    """Share of the energy inside each subspace that lies in each column."""
    if inputs.shown_apart:
        return None
    shares = np.zeros((inputs.n_clusters, inputs.n_features))
    for k in range(inputs.n_clusters):
        rows = at_most(np.flatnonzero(inputs.codes == k), _MOST_ROWS)
        points = inputs.points[rows].astype(np.float64)
        if fit.flats.offsets is not None:
            points = points - points.mean(axis=0)
        basis = fit.flats.bases[k].astype(np.float64)
        energy = np.square(points @ basis @ basis.T).mean(axis=0)
        shares[k] = energy / (energy.sum() or 1.0)
    return shares


def draw_portraits(facts: Facts) -> Panel | None:
    """Say in words what each cluster of a table is."""
    columns = facts.columns
    if columns is None:
        return None
    portraits = [_portrait(facts, columns, k) for k in range(len(facts.clusters))]
    body = part(
        "portraits",
        about=_about_columns(facts, columns),
        portraits=portraits,
        shown=rows_at_once(len(portraits)),
    )
    reading = (
        "A cluster stands out by the columns whose mean differs most from that of the "
        "other rows. An equation was fitted to the rows of the cluster, written with "
        "the fewest digits that fit them, and checked: percentages are its typical "
        "error in the cluster and in all other rows, as a share of the standard "
        "deviation of its left-hand column over all rows. Equations that follow from "
        f"those above them are left out. {facts.about_ends('rows')}"
    )
    if not facts.fit.fitted_here and len(facts.clusters) > 1:
        reading += (
            " In brackets, how many times as far as its own the next subspace is: a "
            "row is in doubt near 1, and below 1 the next is nearer."
        )
    return Panel("portraits", "", body, reading, wide=True)


def _portrait(facts: Facts, columns: Columns, k: int) -> dict[str, Any]:
    typical, doubtful = facts.ends(k, SHOWN_ROWS)
    shown = columns.relations[k][:_SHOWN_EQUATIONS]
    outstanding = [
        f"{columns.names[j]} is {'higher' if columns.effects[k, j] > 0 else 'lower'}: "
        f"{columns.value(j, columns.means[k, j])} on average, "
        f"{columns.value(j, columns.elsewhere[k, j])} elsewhere"
        for j in columns.stands_out(k)[:_SHOWN_COLUMNS]
    ]
    return {
        "position": k,
        "cluster": facts.clusters[k],
        "outstanding": outstanding,
        "equations": [columns.sentence(r, facts.names) for r in shown],
        "further": len(columns.relations[k]) - len(shown),
        "typical": [facts.row_name(row) for row in typical],
        "doubtful": [
            f"{facts.row_name(row)} ({facts.why_doubtful(row)})" for row in doubtful
        ],
    }


def _about_columns(facts: Facts, columns: Columns) -> list[str]:
    """Say which columns take part, and what holds in all rows."""
    inputs, told = facts.inputs, []
    if facts.unused:
        told.append(f"Not used: {listed(list(facts.unused))}.")
    idle = [columns.names[j] for j in columns.idle]
    if idle and inputs.n_clusters > 1:
        verb = "takes no part: it is" if len(idle) == 1 else "take no part: they are"
        told.append(
            f"{listed(idle)} {verb} in no equation of a cluster, and about the same "
            "in all clusters."
        )
    for relation in columns.everywhere:
        told.append(f"In all rows, {columns.sentence(relation, facts.names)}.")
    return told


def draw_columns(facts: Facts) -> Panel | None:
    """Table of means by cluster, shaded by how far they are from the other rows."""
    columns = facts.columns
    if columns is None or len(facts.clusters) < 2:
        return None
    order = np.argsort(-columns.apart, kind="stable")
    rows = []
    for j in order:
        cells = [
            (
                columns.value(j, columns.means[k, j]),
                min(1.0, abs(effect) / _STRONGEST) * (abs(effect) >= _SAME / 2),
                "above" if effect > 0 else "below",
                f"{abs(effect):.1f} standard deviations "
                f"{'above' if effect > 0 else 'below'} the other rows",
            )
            for k, effect in enumerate(columns.effects[:, j])
        ]
        rows.append((columns.names[j], cells, float(columns.apart[j])))
    body = part(
        "heat_table",
        corner="column",
        names=facts.names,
        rows=rows,
        last="between clusters",
        shown=rows_at_once(len(rows)),
    )
    reading = (
        "The mean of each column in each cluster, in the units of the data. Orange is "
        "above, blue below the mean of the other rows; the full colour is "
        f"{_STRONGEST:g} standard deviations or more. The last column is the share of "
        "the variance that lies between clusters: columns that tell clusters apart "
        "by their level come first."
    )
    return Panel("columns", "Columns by clusters: means", body, reading, wide=True)


def draw_loadings(facts: Facts) -> Panel | None:
    """Table of the share of each subspace that lies in each column."""
    columns = facts.columns
    if columns is None or columns.loadings is None:
        return None
    shares = columns.loadings
    top = float(shares.max()) or 1.0
    rows = []
    for j in np.argsort(-shares.max(axis=0), kind="stable"):
        cells = [
            (_share(share), float(share) / top, "part", "")
            for share in shares[:, j].tolist()
        ]
        rows.append((columns.names[j], cells, None))
    body = part(
        "heat_table",
        corner="column",
        names=facts.names,
        rows=rows,
        last="",
        shown=rows_at_once(len(rows)),
    )
    reading = (
        "How much of what its subspace holds of a cluster lies in each column, as the "
        "method saw the rows: every cluster adds up to 100 %. Columns of large numbers "
        "have large shares, and columns of small shares hardly took part in forming "
        "the clusters."
    )
    return Panel("loadings", "What the subspaces are made of", body, reading, wide=True)


def summarise_columns(facts: Facts) -> dict[str, Any]:
    """Return what is known of the columns, for JSON."""
    columns = facts.columns
    if columns is None:
        return {}

    def written(relation: Relation) -> dict[str, Any]:
        return {
            "sentence": columns.sentence(relation, facts.names),
            "column": columns.names[relation.column],
            "terms": {columns.names[j]: factor for j, factor in relation.terms},
            "constant": relation.constant,
            "error": relation.error,
            "error_elsewhere": relation.elsewhere,
            "also_in": [facts.clusters[k].name for k in relation.also],
        }

    clusters = []
    for k, cluster in enumerate(facts.clusters):
        typical, doubtful = facts.ends(k, SHOWN_ROWS)
        clusters.append(
            {
                "name": cluster.name,
                "stands_out_by": [columns.names[j] for j in columns.stands_out(k)],
                "means": fig.six_digits(columns.means[k]),
                "equations": [written(r) for r in columns.relations[k]],
                "typical_rows": [facts.row_name(row) for row in typical],
                "doubtful_rows": [facts.row_name(row) for row in doubtful],
            }
        )
    return {
        "columns": {
            "names": list(columns.names),
            "units": list(columns.units),
            "unused": list(facts.unused),
            "idle": [columns.names[j] for j in columns.idle],
            "between_clusters": fig.six_digits(columns.apart),
            "equations_of_all_rows": [written(r) for r in columns.everywhere],
            "clusters": clusters,
        }
    }


def _share(share: float) -> str:
    """Write a share in percent with about two digits."""
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _plain(value: float) -> str:
    """Write a rounded number without an exponent where it is readable."""
    return f"{value:.6g}" if 1e-4 <= value < 1e6 or value == 0 else number(value)
