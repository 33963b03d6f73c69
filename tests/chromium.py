"""The system's Chromium, which tests of pages drive where there is one."""

import os
import shutil

CHROMIUM = os.environ.get("MARGIN_CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"]
