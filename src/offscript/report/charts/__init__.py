"""Charts as Vega-Lite specifications: plain data, drawn by the page or saved as a file."""
