"""Whole texts: the claims that they make, each made to stand alone, and what checking them shows."""
