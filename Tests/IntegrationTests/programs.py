"""The programs under test: those of .build/debug, or of $GATEWAY_BIN_DIR."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(os.environ.get("GATEWAY_BIN_DIR", ROOT / ".build" / "debug")).resolve()
GATEWAYD = BINARIES / "gatewayd"
GATEWAYCTL = BINARIES / "gatewayctl"
