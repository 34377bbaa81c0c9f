"""A table with planted equations: three kinds of machines, and what they measure."""

from dataclasses import dataclass

import numpy as np

# Free in all clusters, then those that equations give, then two that take no part.
FREE = ("temperature", "flow", "humidity")
GIVEN = ("pressure", "speed", "power", "voltage", "current", "torque", "level")
IDLE = ("vibration", "drift")
NAMES = (*FREE, *GIVEN, *IDLE)
SIZES = (80, 70, 50)
# Of each cluster and given column: factors of the free columns, and a constant.
EQUATIONS = (
    {
        "pressure": ({"temperature": 1.8}, -4),
        "speed": ({"flow": 0.5}, 2),
        "power": ({"flow": 1.5}, 0),
        "voltage": ({"humidity": 1}, 3),
        "current": ({"humidity": -0.5}, 8),
        "torque": ({"temperature": 2, "flow": -1}, 0),
        "level": ({"flow": -1}, 12),
    },
    {
        "pressure": ({"temperature": -1}, 12),
        "speed": ({"flow": 2}, -3),
        "power": ({"temperature": 1, "flow": 1}, 0),
        "voltage": ({"humidity": 0.5}, 1),
        "current": ({"temperature": 1, "humidity": 1}, -2),
        "torque": ({"flow": -0.7}, 9),
        "level": ({"humidity": 1.2}, 0),
    },
    {
        "pressure": ({"temperature": 0.5, "flow": 0.5}, 0),
        "speed": ({"humidity": 1}, -1),
        "power": ({"humidity": -1.2}, 14),
        "voltage": ({"temperature": 1.5}, -2),
        "current": ({"flow": 0.4}, 4),
        "torque": ({"humidity": 0.5}, 3),
        "level": ({"flow": 1, "humidity": 1}, -3),
    },
)


@dataclass(frozen=True)
class Planted:
    """The table, and what is true of it."""

    rows: np.ndarray  # (200, 12)
    truth: np.ndarray  # the kind of each machine
    torn: np.ndarray  # rows between two kinds


def planted(seed=0, noise=0.05):
    """Return 200 rows; two of each cluster are halfway to the next cluster."""
    rng = np.random.default_rng(seed)
    rows, truth, torn = [], [], []
    for k, (size, equations) in enumerate(zip(SIZES, EQUATIONS, strict=True)):
        values = dict(zip(FREE, rng.uniform(2, 10, (len(FREE), size)), strict=True))
        other = EQUATIONS[(k + 1) % 3]
        errors = noise * rng.standard_normal((len(GIVEN), size))
        for name, error in zip(GIVEN, errors, strict=True):
            exact = _given(values, equations[name])
            exact[:2] = 0.6 * exact[:2] + 0.4 * _given(values, other[name])[:2]
            values[name] = exact + error
        for name in IDLE:
            values[name] = 1 + 0.3 * rng.standard_normal(size)
        rows.append(np.column_stack([values[name] for name in NAMES]))
        truth.append(np.full(size, k))
        torn.append(np.arange(size) < 2)
    order = rng.permutation(sum(SIZES))
    parts = (np.concatenate(some)[order] for some in (rows, truth, torn))
    return Planted(*parts)


def _given(values, equation):
    factors, constant = equation
    return constant + sum(factor * values[name] for name, factor in factors.items())


def off_by(rows, kind):
    """Root mean square error of rows in the equations of a kind of machine."""
    values = dict(zip(NAMES, rows.T, strict=True))
    errors = [values[name] - _given(values, EQUATIONS[kind][name]) for name in GIVEN]
    return np.sqrt(np.mean(np.square(errors), axis=0))


def write_table(path, table):
    """Write it as people keep it: with ids, a text column, and numbers."""
    lines = [",".join(["machine", "site", *NAMES])]
    for i, row in enumerate(table.rows):
        name = ("ann", "bob", "cat")[i % 3]
        lines.append(",".join([f"M{i:03d}", name, *(f"{v:.3f}" for v in row)]))
    path.write_text("\n".join(lines) + "\n")
