"""JSON Schema 2020-12: a schema becomes formulas, one per type, and those a lazy automaton over bytes."""
