"""The papers' tables and figures as data, and sweeps: grids of models, trainings and questions.

Nothing enters here that knows a question: it comes from the registry.
"""
