"""scikit-learn estimators: validate, call, store."""

from ekss.estimators._base import (
    ClusteringWarning,
    Doubt,
    find_doubts,
    rows_to_doubt,
)
from ekss.estimators._consensus import ConsensusClustering
from ekss.estimators._copkss import CoPKSS
from ekss.estimators._ekss import EKSS
from ekss.estimators._ensc import EnSC
from ekss.estimators._gsc import GSC
from ekss.estimators._kss import KSS
from ekss.estimators._low_rank import LRR, LRSC, LSR
from ekss.estimators._mkf import MedianKFlats
from ekss.estimators._paper import PaperEKSS
from ekss.estimators._search import LabelFreeSearch
from ekss.estimators._slbf import SLBF
from ekss.estimators._ssc import SSC
from ekss.estimators._sscomp import SSCOMP
from ekss.estimators._tsc import TSC

__all__ = [
    "EKSS",
    "GSC",
    "KSS",
    "LRR",
    "LRSC",
    "LSR",
    "SLBF",
    "SSC",
    "SSCOMP",
    "TSC",
    "ClusteringWarning",
    "CoPKSS",
    "ConsensusClustering",
    "Doubt",
    "EnSC",
    "LabelFreeSearch",
    "MedianKFlats",
    "PaperEKSS",
    "find_doubts",
    "rows_to_doubt",
]
