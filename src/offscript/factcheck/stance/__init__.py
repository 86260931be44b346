"""How a text stands to a claim: agree, disagree, discuss or unrelated. One module per model."""
