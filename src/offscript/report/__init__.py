"""Stored measurements become one self-contained HTML page.

Nothing enters here that runs a model: a page is made from what an audit stored, and nothing else.
"""

from offscript.report.against import write_against
from offscript.report.comparison import write_comparison
from offscript.report.page import write_page
from offscript.report.vega import save_chart

__all__ = ["save_chart", "write_against", "write_comparison", "write_page"]
