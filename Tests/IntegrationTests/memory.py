"""Whether a daemon's resident memory says anything about it."""

import os

# A sanitizer keeps books beside every byte, and freed memory for a while.
COUNTS = not os.environ.get("GATEWAY_SANITIZE")
