"""A claim's way: query, retrieval, reranking, stance, evidence, language, verdict.

Nothing enters here that knows a language model: of the other rooms, factcheck knows corpora alone.
"""
