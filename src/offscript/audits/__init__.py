"""Many measures on one model: plan, run, resume, store.

Nothing enters here that computes a figure (that is a measure) or draws one (that is the report).
"""
