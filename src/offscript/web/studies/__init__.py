"""The pages of a study: consent, rating, writing and validating association tests, and an overview for its owner."""
