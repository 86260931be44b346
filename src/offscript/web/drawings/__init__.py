"""Geometry of the drawings. The templates write it as SVG, so that a page shows them without any script."""
