"""`python -m debatebench`."""

import os
import sys

# With -m, Python looks for modules in the current folder first, which may be the workspace of someone else.
here = sys.path[0] or "."
if not sys.flags.safe_path and os.path.exists(here) and os.path.samefile(here, "."):
    # A checkout finds its own modules there.
    sys.path[:1] = [here] if os.path.exists(os.path.join(here, "debatebench", "__main__.py")) else []

from debatebench.cli import main  # noqa: E402

main()
