"""Builds the programs of clients/swift/tests as others would: in a package of their own that depends on a version of this
one. The version is a tag in a Git repository that is made of this tree; SwiftPM refuses unsafe flags in what a versioned
dependency needs, so the build shows that there are none.

All of it is in build/swift-client, where a second build finds the first: without a change it takes no time.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess

from programs import ROOT

SWIFT = ROOT / "clients" / "swift"
PROGRAMS = SWIFT / "tests"
FOLDER = ROOT / "build" / "swift-client"
BINARIES = FOLDER / "scratch" / "debug"
REPOSITORY = FOLDER / "gatewayd.git"
BUILD_TIME = 600
"""Seconds that a test may take which builds them first, on a busy machine."""

# What SwiftPM may want to see of a package.
_TREE = ["Package.swift", "Sources", "clients", "Tests"]


def build():
    """Builds what has changed since the last time; raises AssertionError with what the tools said."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, sources = FOLDER / "stamp", _digest()
        if stamp.exists() and stamp.read_text() == sources:
            return
        with contextlib.suppress(FileNotFoundError):
            stamp.unlink()
        _tag()
        package = FOLDER / "programs"
        shutil.copytree(PROGRAMS, package, dirs_exist_ok=True)
        swift = ["--package-path", package, "--scratch-path", FOLDER / "scratch", "--cache-path", FOLDER / "cache",
                 "--config-path", FOLDER / "config", "--security-path", FOLDER / "security"]
        _run("swift", "package", *swift, "update")
        said = _run("swift", "build", *swift)
        # What a package that others depend on asks for about warnings does not hold there.
        assert "warning:" not in said, said
        stamp.write_text(sources)


def _tag():
    """Puts this tree, as it is now, into the repository as the next version."""
    git = ["git", "--git-dir", REPOSITORY, "--work-tree", ROOT]
    if not REPOSITORY.exists():
        _run("git", "init", "--quiet", "--bare", REPOSITORY)
    _run(*git, "add", "--all", *_TREE)
    _run(*git, "-c", "user.name=tests", "-c", "user.email=tests@localhost", "commit", "--quiet", "--allow-empty",
         "--message", "The tree as it is tested")
    count = len(_run(*git, "tag").split())
    _run(*git, "tag", f"1.0.{count}")


def _digest():
    """What the programs are made of."""
    digest = hashlib.sha256()
    for path in [ROOT / "Package.swift", *sorted(SWIFT.rglob("*.swift"))]:
        digest.update(f"{path.relative_to(ROOT)}\0{path.read_text()}\0".encode())
    return digest.hexdigest()


def _run(*command):
    environment = {**os.environ, "GATEWAYD_REPOSITORY": REPOSITORY.as_uri(), "GIT_CONFIG_GLOBAL": os.devnull,
                   "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}"
    return done.stdout
