"""Pages about clusters and about guarantees, each one HTML file, and their numbers."""

from ekss.report._clusters import build
from ekss.report._facts import check_summary, summary_table
from ekss.report._guarantees import Guarantees, guarantees
from ekss.report._page import Report
from ekss.report._wording import Wording

__all__ = [
    "Guarantees",
    "Report",
    "Wording",
    "build",
    "check_summary",
    "guarantees",
    "summary_table",
]
