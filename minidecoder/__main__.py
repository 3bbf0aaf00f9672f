"""`python -m minidecoder` starts here; what it does is in `minidecoder.cli.main`."""

import sys

from minidecoder.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
