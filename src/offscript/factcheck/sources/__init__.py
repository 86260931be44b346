"""Where documents come from: providers that find them, and how factual their publishers are."""
