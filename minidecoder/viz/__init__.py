"""Pictures of machines, masks and runs: drawn from traces, none re-computes.

`theme` the roles of every picture · `graph` machines, moves of tokens and stacks as SVG · `plots` figures of
masks, sampling orders, spellings and costs · `player` a run to step through, as a widget or one HTML file.
Their packages are imported when called.
"""
