"""The programs under test, those of .build/debug or of $GATEWAY_BIN_DIR, and programs of Debian beside them."""

import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(os.environ.get("GATEWAY_BIN_DIR", ROOT / ".build" / "debug")).resolve()
GATEWAYD = BINARIES / "gatewayd"
GATEWAYCTL = BINARIES / "gatewayctl"


def debian_program(path):
    """A program that `make environments` unpacks below build/, else that of the PATH; None where there is neither.
    GATEWAY_NAME names another one."""
    unpacked = ROOT / "build" / path
    return os.environ.get(f"GATEWAY_{unpacked.name.upper()}") or (
        str(unpacked) if unpacked.exists() else shutil.which(unpacked.name))
