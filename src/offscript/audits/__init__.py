"""Many questions about one model: plan, run, resume, store, compare.

Nothing enters here that computes a figure (that is a measure) or draws one (that is the report).
"""

from offscript.audits.audit import plan_audit, read_record, run_audit
from offscript.audits.comparison import compare_runs, read_runs
from offscript.audits.store import read_results, write_results

__all__ = ["compare_runs", "plan_audit", "read_record", "read_results", "read_runs", "run_audit", "write_results"]
