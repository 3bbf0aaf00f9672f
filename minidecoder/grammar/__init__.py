"""Grammars, from text to a machine with a stack: rules, lexer, parser, checks, left recursion, pushdown."""
