"""Set-up shared by the tests of sharded jobs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # other processes import the tasks from here, too
