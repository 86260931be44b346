"""Stored measurements become one self-contained HTML page.

Nothing enters here that runs a model: a page is made from what an audit stored, and nothing else.
"""
