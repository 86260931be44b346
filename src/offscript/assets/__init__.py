"""Small weights that ship with the package, each in a folder of its own with a model card.

Nothing enters here that is not the project's own to give away: no data set, and no code.
"""
