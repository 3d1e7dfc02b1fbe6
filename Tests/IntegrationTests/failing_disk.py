"""Disks in trouble for a daemon's state folder: one of its own that is small, full or read-only, and system calls that
fail."""

import asyncio
import pathlib
import shutil
import subprocess

import pytest

import processes

SHIM = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <dlfcn.h>

/* As long as the file $FAILS/CALL exists, the call fails with EIO. */
static int fails(const char *call) {
  char path[4096];
  const char *folder = getenv("FAILS");
  if (!folder || strlen(folder) + strlen(call) + 2 > sizeof path) return 0;
  strcpy(path, folder);
  strcat(path, "/");
  strcat(path, call);
  int before = errno;
  if (access(path, F_OK) != 0) {
    errno = before;
    return 0;
  }
  errno = EIO;
  return 1;
}

int fdatasync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  return fails("sync") ? -1 : real(file);
}

int fsync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  return fails("sync") ? -1 : real(file);
}

/* A database's file, and not its write-ahead log. */
static int is_database(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path);
  return count > 7 && memcmp(path + count - 7, ".sqlite", 7) == 0;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
  ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
  return fails("write") || (is_database(file) && fails("move")) ? -1 : real(file, bytes, count, place);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t place) { return pwrite64(file, bytes, count, place); }

ssize_t pread64(int file, void *bytes, size_t count, off64_t place) {
  ssize_t (*real)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");
  return fails("read") ? -1 : real(file, bytes, count, place);
}

DIR *opendir(const char *path) {
  DIR *(*real)(const char *) = dlsym(RTLD_NEXT, "opendir");
  return fails("list") ? NULL : real(path);
}

struct dirent *readdir(DIR *folder) {
  struct dirent *(*real)(DIR *) = dlsym(RTLD_NEXT, "readdir");
  if (fails("entry")) return NULL;
  return real(folder);
}

ssize_t pread(int file, void *bytes, size_t count, off_t place) { return pread64(file, bytes, count, place); }
"""


class Faults:
    """System calls of a daemon that fail on demand: `write`, `sync`, `read`, `list` (of a folder), `entry` (the next name of one), and `move`, which is a write to the file of a
    database but not to its log."""

    def __init__(self, folder):
        self.folder = folder / "faults"
        self.folder.mkdir()
        source, library = self.folder / "shim.c", self.folder / "shim.so"
        source.write_text(SHIM)
        compiler = shutil.which("gcc") or shutil.which("clang")
        if not compiler:
            pytest.skip("no C compiler: the failing system calls cannot be built")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
        self.environment = {"LD_PRELOAD": library, "FAILS": self.folder}

    def begin(self, call):
        (self.folder / call).touch()

    def end(self, call):
        (self.folder / call).unlink()


class SmallDisk:
    """A file system in memory, mounted in a namespace that only the daemons of the test enter."""

    def __init__(self, mount, holder):
        self.mount = mount
        self.holder = holder
        self.wrapper = ["nsenter", f"--mount=/proc/{holder.pid}/ns/mnt"]

    @classmethod
    async def make(cls, mount, size):
        mount.mkdir(mode=0o777, parents=True)
        script = 'mount -t tmpfs -o "size=$2,mode=0777" gw "$1" && echo mounted && exec sleep infinity'
        holder = await processes.spawn(
            "unshare", "--mount", "sh", "-c", script, "sh", str(mount), size, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        if await holder.stdout.readline() != b"mounted\n":
            reason = (await holder.stderr.read()).decode().strip()
            await holder.wait()
            pytest.skip(f"mount namespaces are not permitted here: {reason}")
        return cls(mount, holder)

    def remount(self, options):
        command = [*self.wrapper, "mount", "-o", f"remount,{options}", str(self.mount)]
        subprocess.run(command, check=True, capture_output=True, timeout=10)

    @property
    def inside(self):
        """The mount as this process sees it."""
        return pathlib.Path(f"/proc/{self.holder.pid}/root{self.mount}")

    def files(self):
        """The bytes of every file, by name."""
        return {path.name: path.read_bytes() for path in self.inside.rglob("*") if path.is_file()}

    async def remove(self):
        await processes.kill(self.holder)
