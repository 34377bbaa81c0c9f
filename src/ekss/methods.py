"""The methods by the names that users type: one line per method.

The command, the tables of the benchmarks and ``ekss`` itself read this table. It
imports nothing, so that help and ``import ekss`` stay quick.
"""

from importlib import import_module
from typing import Any

# Where the class of each method is, as "module:Class".
CLASSES = {
    "ekss": "ekss.estimators:EKSS",
    "paper": "ekss.estimators:PaperEKSS",
    "kss": "ekss.estimators:KSS",
    "copkss": "ekss.estimators:CoPKSS",
    "mkf": "ekss.estimators:MedianKFlats",
    "tsc": "ekss.estimators:TSC",
    "ssc": "ekss.estimators:SSC",
    "sscomp": "ekss.estimators:SSCOMP",
    "ensc": "ekss.estimators:EnSC",
    "gsc": "ekss.estimators:GSC",
    "slbf": "ekss.estimators:SLBF",
    "lsr": "ekss.estimators:LSR",
    "lrsc": "ekss.estimators:LRSC",
    "lrr": "ekss.estimators:LRR",
}

# Further lines of the tables: a method of the table above with parameters of its own.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ekss-images": ("ekss", {}),  # image_shape is that of the data set
    **{
        f"{name}-ds": (name, {"doubly_stochastic": 1.0})
        for name in ("tsc", "lsr", "lrsc")
    },
}

# Clusterers of scikit-learn, for lines of the tables only.
RIVALS = {
    "kmeans": "ekss.benchmarks._rivals:kmeans",
    "spectral": "ekss.benchmarks._rivals:spectral",
    "mixture": "ekss.benchmarks._rivals:mixture",
    "hdbscan": "ekss.benchmarks._rivals:hdbscan",
}


def imported(place: str) -> Any:
    """Return what stands at "module:name".

    Examples
    --------
    >>> imported("ekss.metrics:clustering_error").__name__
    'clustering_error'
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
