"""Fitted models into one file without pickle, and back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ekss.io._archive import Content, Unsound, need, read_archive, write_archive
from ekss.io._base import InputError, reading

_MOST_STEPS = 16


@dataclass(frozen=True)
class SavedModel:
    """A model from a file: preprocessing, then an estimator that assigns new points.

    Attributes
    ----------
    estimator : EKSS, KSS, CoPKSS or MedianKFlats
        With the subspaces of the fitted one, so it can ``predict``, ``transform`` and
        ``score``; labels and graphs of the points of ``fit`` are not kept.
    preprocessing : tuple of transformers
        Applied before the estimator, in this order.
    written_by : str
        Version of ekss that wrote the file.
    left_out : tuple of str
        Parameters that a file cannot hold, such as functions; they have their
        defaults again. None of them matters for new points.

    See Also
    --------
    load_model : Reads one from a file, with an example.

    Examples
    --------
    >>> from ekss import KSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.io import SavedModel
    >>> X = make_union_of_subspaces(2, 2, 10, 20, random_state=0).data
    >>> model = SavedModel(KSS(2, subspace_dim=2, random_state=0).fit(X))
    >>> model.n_features, model.transform(X[:3]).shape
    (10, (3, 2))
    """

    estimator: Any
    preprocessing: tuple[Any, ...] = ()
    written_by: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        """Number of columns that new points must have."""
        return int(self._first.n_features_in_)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns that the model was fitted on, None if it had none."""
        names = getattr(self._first, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def _first(self) -> Any:
        """What new points meet first."""
        return (*self.preprocessing, self.estimator)[0]

    def prepare(self, X: ArrayLike) -> Any:
        """Return new points after the preprocessing.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As they are in a file.

        Returns
        -------
        prepared : ndarray
            What the estimator sees.
        """
        width = np.shape(X)[1] if np.ndim(X) == 2 else None
        if width is not None and width != self.n_features:
            raise InputError(
                f"the points have {width} features, but the model was fitted on "
                f"{self.n_features}; give it points of the same kind"
            )
        prepared: Any = X
        for step in self.preprocessing:
            prepared = step.transform(prepared)
        return prepared

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign new points to the nearest subspaces.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As they were before the preprocessing.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the subspace of each point.
        """
        return self.estimator.predict(self.prepare(X))

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the distance of new points to every subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As they were before the preprocessing.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            One column for each cluster.
        """
        return self.estimator.transform(self.prepare(X))


def save_model(
    path: str | os.PathLike[str],
    estimator: Any,
    *,
    preprocessing: Any = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    """Write a fitted estimator and its preprocessing into one file, in one step.

    Parameters
    ----------
    path : path-like
        File to write, by custom ending in .ekss. An earlier one is replaced when the
        new one is complete.
    estimator : EKSS, KSS, CoPKSS or MedianKFlats
        Fitted. Methods that cut a graph alone cannot assign new points.
    preprocessing : transformer or sequence of them, default=None
        Fitted transformers of :mod:`ekss.preprocessing`, in the order of use.
    feature_names : sequence of str, default=None
        Names of the columns, for a model that was fitted on an array without names,
        such as ``read_points(...).points``. One that was fitted on a data frame has
        ``feature_names_in_`` and needs none.

    Raises
    ------
    InputError
        For what cannot be saved.
    OSError
        Where the file cannot be written; ``filename`` is the path.

    See Also
    --------
    load_model : The way back.

    Notes
    -----
    The file holds what prediction needs, O(n_clusters n_features dim) numbers, and no
    point of the data. Labels and distances of a loaded model are those of the saved
    one to the last bit, on one machine.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss import KSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.io import save_model
    >>> X = make_union_of_subspaces(2, 2, 10, 20, random_state=0).data
    >>> fitted = KSS(2, subspace_dim=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(Path(folder) / "model.ekss", fitted)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['model.ekss']
    """
    from ekss.io._steps import ESTIMATORS, TRANSFORMERS, pack_step

    before: Sequence[Any] = preprocessing or ()
    if hasattr(preprocessing, "transform"):
        before = (preprocessing,)
    steps = [pack_step(step, TRANSFORMERS) for step in before]
    last = pack_step(estimator, ESTIMATORS)
    if feature_names is not None:
        about, names = (*steps, last)[0].description, list(map(str, feature_names))
        if len(names) != about["n_features"]:
            raise InputError(
                f"feature_names has {len(names)} names, but the model was fitted on "
                f"{about['n_features']} features; give one name for each"
            )
        if about.setdefault("feature_names", names) != names:
            raise InputError(
                "feature_names are not those that the model was fitted on; leave them "
                "out"
            )
    prefixes = [*(f"preprocessing.{i}" for i in range(len(steps))), "estimator"]
    content = Content(
        {
            "preprocessing": [step.description for step in steps],
            "estimator": last.description,
            "left_out": [name for step in (*steps, last) for name in step.left_out],
        },
        {
            f"{prefix}.{key}": array
            for prefix, step in zip(prefixes, (*steps, last), strict=True)
            for key, array in step.arrays.items()
        },
    )
    path = Path(path)
    with _refusing(path):
        # Whatever is written can be read again.
        _restored(content)
    write_archive(path, content)


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model that :func:`save_model` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : SavedModel
        It assigns new points as the saved one did.

    Raises
    ------
    InputError
        For a file that is damaged, of another kind or of a newer ekss; one line.

    Notes
    -----
    A file from a stranger is safe to load: nothing in it is run, only classes of this
    package are made, and it takes no more memory than a few times its size.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ekss import KSS
    >>> from ekss.datasets import make_union_of_subspaces
    >>> from ekss.io import load_model, save_model
    >>> X = make_union_of_subspaces(n_subspaces=2, dims=2, random_state=0).data
    >>> fitted = KSS(n_clusters=2, subspace_dim=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(Path(folder) / "model.ekss", fitted)
    ...     model = load_model(Path(folder) / "model.ekss")
    >>> bool((model.predict(X) == fitted.predict(X)).all())
    True
    """
    path = Path(path)
    with reading(path, "an ekss model"), _refusing(path):
        return _restored(read_archive(path))


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say which file it is that does not hold a sound model."""
    try:
        yield
    except Unsound as error:
        raise InputError(f"{path} is refused as a model: {error}") from error


def _restored(content: Content) -> SavedModel:
    """Make the objects that a content describes; refuse what does not fit together."""
    from ekss.io._steps import ESTIMATORS, TRANSFORMERS, restore_step

    about, arrays = content.description, dict(content.arrays)
    steps, left_out = about.get("preprocessing"), about.get("left_out")

    def taken(prefix: str) -> dict[str, NDArray[np.floating]]:
        names = [name for name in arrays if name.startswith(prefix)]
        return {name.removeprefix(prefix): arrays.pop(name) for name in names}

    if not isinstance(steps, list) or len(steps) > _MOST_STEPS:
        raise Unsound(f"preprocessing is not a list of at most {_MOST_STEPS} steps")
    if not isinstance(left_out, list) or not all(isinstance(n, str) for n in left_out):
        raise Unsound("left_out is not a list of names")
    width: int | None = None
    restored = []
    for i, step in enumerate(steps):
        mine = taken(f"preprocessing.{i}.")
        model, width = restore_step(step, mine, TRANSFORMERS, width)
        restored.append(model)
    mine = taken("estimator.")
    estimator, _ = restore_step(about.get("estimator"), mine, ESTIMATORS, width)
    need(not arrays, f"no step has the array {min(arrays, default='')!r}")
    return SavedModel(estimator, tuple(restored), content.written_by, tuple(left_out))
