"""The command line: `python -m minidecoder demo | doctor | model`, one module each.

A command is a module with `add_parser(subparsers)`, which names its options and sets `func=run`, and
`run(args) -> int`, the exit code. What is heavy is imported inside `run`.
"""
