"""Keeps a PostgreSQL server for the process that started it, and ends with that process, however it ends.

Run as a script: it detaches itself, so that neither it nor the server is a child of the process of the tests. On
standard input it is told `kill` (SIGKILL) and `start`; at its end it stops the server and removes its folder.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_START_SECONDS = 60.0
_ROOM_BYTES = 1024 * 1024 * 1024
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # a killed process loses nothing that the kernel has; and nobody cuts the power in a test
    "full_page_writes": "off",
    "max_connections": "100",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


class Keeper:
    """A server in a folder of its own."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="toolcrib-pg-", dir=_quick_place()))
        self._data = self.folder / "data"
        self._server: subprocess.Popen[bytes] | None = None
        # The server refuses to run as root.
        self._account = _other_account() if os.geteuid() == 0 else None
        if self._account is not None:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)

    def make(self) -> None:
        """Make the files of the server."""
        options = "-U postgres -A trust -E UTF8 --locale=C --no-sync".split()
        if self._begin("initdb", "-D", self._data, *options).wait() != 0:
            raise SystemExit("the files of the server could not be made")
        rules = "local all locked scram-sha-256\nlocal all all trust\n"
        (self._data / "pg_hba.conf").write_text(rules, encoding="utf-8")

    def start(self) -> None:
        """Start the server, and wait until it takes connections."""
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        self._server = self._begin("postgres", "-D", self._data, "-k", self.folder, *settings)
        deadline = time.monotonic() + _START_SECONDS
        while self._begin("pg_isready", "-q", "-h", self.folder).wait() != 0:
            if time.monotonic() > deadline or self._server.poll() is not None:
                raise SystemExit("the server did not start")
            time.sleep(0.02)

    def stop(self, how: signal.Signals) -> None:
        """End the server and wait for it; its own children end with it."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait()
            self._server = None

    def _begin(self, name: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
        account = self._account
        return subprocess.Popen(
            [self._binaries / name, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            user=None if account is None else account.pw_uid,
            group=None if account is None else account.pw_gid,
            extra_groups=None if account is None else [],
        )


def _quick_place() -> str:
    """In memory, if there is enough of it: nothing here outlives the process, and each test makes a database."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > _ROOM_BYTES
    # The path of a socket has some hundred characters at most, which other temporary folders may not leave.
    return str(memory) if roomy else "/tmp"


def _other_account() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise SystemExit("there is no account to run the server as")


def _serve(keeper: Keeper) -> None:
    try:
        keeper.make()
        keeper.start()
        _tell(str(keeper.folder))
        for line in sys.stdin:
            match line.strip():
                case "kill":
                    keeper.stop(signal.SIGKILL)
                case "start":
                    keeper.start()
            _tell("done")
    finally:
        keeper.stop(signal.SIGQUIT)
        shutil.rmtree(keeper.folder, ignore_errors=True)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Detach, and keep a server until standard input ends."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _serve(Keeper(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
