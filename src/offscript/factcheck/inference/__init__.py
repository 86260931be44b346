"""Inference: does the evidence support a claim, refute it, or neither?"""
