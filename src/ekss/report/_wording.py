"""How a page names settings and repeats a run: as Python, or as the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone


@dataclass(frozen=True)
class Wording:
    """The language of the reader; the default is that of Python.

    Attributes
    ----------
    translate : callable
        From a text that names parameters (``n_members=800``, ``subspace_dim``) to one
        that names them as the reader does.
    again : callable or None
        From parameters to change to what the reader types to run again with them;
        None writes a call of the estimator.

    Examples
    --------
    >>> from ekss import TSC
    >>> from ekss.report import Wording
    >>> Wording().run_again(TSC(3), {"n_neighbors": 8})
    'TSC(n_clusters=3, n_neighbors=8).fit(X)'
    """

    translate: Callable[[str], str] = str
    again: Callable[[Mapping[str, Any]], str] | None = None

    def run_again(self, estimator: Any, changes: Mapping[str, Any]) -> str:
        """Write how to run an estimator again with some parameters changed.

        Parameters
        ----------
        estimator : estimator
            As it was run; it is not changed.
        changes : mapping of str to object
            New values of parameters, by name.

        Returns
        -------
        text : str
            A call or a command, to copy.
        """
        if self.again is not None:
            return self.again(changes)
        known = clone(estimator).set_params(**changes)
        if "verbose" in known.get_params(deep=False):
            known.set_params(verbose=0)
        return f"{' '.join(repr(known).split())}.fit(X)"
