"""Property tests run the same examples every time and are not timed: a busy machine must not fail them.

``HYPOTHESIS_PROFILE=explore pytest`` looks for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# pytest-xdist gives its workers the width of our terminal; output is tested as it is without one.
os.environ.pop("COLUMNS", None)
