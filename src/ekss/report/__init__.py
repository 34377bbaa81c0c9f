"""Pages about clusters, comparisons and guarantees, each one HTML file."""

from ekss.report._clusters import build
from ekss.report._comparison import Contender, compare
from ekss.report._facts import check_summary, summary_table
from ekss.report._guarantees import Guarantees, guarantees
from ekss.report._page import Report
from ekss.report._wording import Wording

__all__ = [
    "Contender",
    "Guarantees",
    "Report",
    "Wording",
    "build",
    "check_summary",
    "compare",
    "guarantees",
    "summary_table",
]
