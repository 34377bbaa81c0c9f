"""A page about clusters: what was found, how sure it is, what to doubt."""

from ekss.report._build import Report, build
from ekss.report._summary import check_summary, summary_table

__all__ = ["Report", "build", "check_summary", "summary_table"]
