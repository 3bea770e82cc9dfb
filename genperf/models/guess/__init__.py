"""Roles for the columns of a table, guessed from their names and cells."""

from genperf.models.guess.roles import Guess, guess_roles

__all__ = ["Guess", "guess_roles"]
