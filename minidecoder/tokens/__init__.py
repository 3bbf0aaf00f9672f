"""Vocabularies, and the index from states to tokens in its three forms."""
