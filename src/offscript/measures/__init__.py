"""What is measured: definitions over next-token distributions, one module a question, each figure with its interval.

Nothing enters here that knows a network, a file on disk or a page.
"""
