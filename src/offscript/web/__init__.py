"""Pages where people take part: check a claim, rate samples, write and validate tests, browse audits.

Nothing enters here that measures: a page calls the rooms below it and keeps what people enter.
"""
