"""Models behind an OpenAI-compatible completions server: `openai/MODEL@http://host:port/v1`."""
