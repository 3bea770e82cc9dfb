"""What words mean: one table of data, `words.toml`, by which names of columns, headers and units are read.

No other room lists words of a role: a new name, unit or language is a word in the table.
"""

from genperf.vocabulary.words import any_of, section, words_of
