"""Sentences and numbers as a person reads them, one file a subject; nothing here computes an answer."""
