"""Work for runner tests; fresh processes import it as a module of its own."""

import os
import time
from pathlib import Path

import numpy as np


def double(cell):
    return {"error": 2.0 * cell.seed}


def fail_or_die(cell):
    """Do what the parameters say, and note every call in a file."""
    wanted = cell.params["wanted"]
    with open(cell.params["log"], "a") as stream:
        stream.write(f"{cell.seed}\n")
    if wanted == "raise" and not Path(cell.params["healed"]).exists():
        raise ValueError("the value 7 is above the limit 5; choose at most 5")
    if wanted == "memory":
        raise MemoryError("2 GB wanted")
    if wanted == "die":
        os.kill(os.getpid(), 9)
    return {"error": 1.0}


def slow(cell):
    with open(cell.params["log"], "a") as stream:
        stream.write(f"{cell.seed}\n")
    time.sleep(cell.params["seconds"])
    return {"error": float(cell.seed)}


class SignOfFirst:
    """A method outside the package: two clusters by the sign of the first feature."""

    def __init__(self, n_clusters, random_state=None, n_jobs=None):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        self.labels_ = (np.asarray(X)[:, 0] > 0).astype(np.int64)
        return self
