"""``python -m tipover``."""

import sys

from tipover.cli import main

if __name__ == "__main__":
    sys.exit(main())
