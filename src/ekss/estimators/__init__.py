"""scikit-learn estimators: validate, call, store."""

from ekss.estimators._ekss import EKSS
from ekss.estimators._kss import KSS

__all__ = ["EKSS", "KSS"]
