"""`python -m website [--out DIR]`: build the site, and say where it lies."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from minidecoder.errors import MiniDecoderError
from website.build import build
from website.shelf import ROOT


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make site", description="Write all lessons as pages.")
    parser.add_argument("--out", type=Path, default=ROOT / "site", metavar="DIR", help="default: site/")
    out = parser.parse_args(arguments).out
    try:
        built = build(out)
    except MiniDecoderError as error:
        line = str(error)
    except OSError as error:
        line = f"{error.strerror or error}: {error.filename or out}"
    else:
        print("\n".join(built.report))
        print(f"the site: {built.folder}\n{(built.folder / 'index.html').as_uri()}")
        return 0
    print(f"minidecoder: {' '.join(line.split())}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
