"""Pictures of machines, masks and runs: drawn from traces, none re-computes.

`theme` the roles of every picture · `graph` a machine as SVG · `plots` bars before and after the mask
· `player` a run to step through, as a widget or one HTML file. Their packages are imported when called.
"""
