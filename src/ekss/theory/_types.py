"""Names for types that several modules use."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Bases = Sequence[Floats] | Floats  # of shape (n_features, dim) each
Increasing = Callable[[float], float]  # from an inner product to an expected affinity
Monotone = Callable[[Floats], Floats]  # the same for arrays
