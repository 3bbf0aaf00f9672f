"""Regular expressions, from text to a table over bytes: charset, cursor, syntax, nfa, minimise, dfa, utf8."""
