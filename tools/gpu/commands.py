"""Commands of gpu-acceptance: runs them, and keeps their outputs for the next call."""
import json
import os
import signal
import subprocess
import time

LIMIT_S = 300  # time limit of a command


class Failed(Exception):
    """A command that failed, with the reason in one line."""

    def __str__(self):
        return f"no: {super().__str__()}"


class Unable(Failed):
    """Something that this machine does not have."""

    def __str__(self):
        return f"not run: {super(Failed, self).__str__()}"


def run(*command, env=None, limit=LIMIT_S):
    """Returns exit code and output of a command."""
    command = list(map(str, command))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env,
                          errors="replace", start_new_session=True) as child:
        try:
            out = child.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            return None, f"not done after {limit} s"
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    return child.returncode, out


class OutOfTime(Exception):
    """The time of --minutes is over."""


class Journal:
    """Outputs of commands, kept as they end; commands of an earlier call are not run again."""

    def __init__(self, path, identity, again, minutes):
        self.end = time.monotonic() + 60 * minutes if minutes else None
        self.kept = {}
        head = json.dumps({"of": identity})
        lines = path.read_text(encoding="utf-8").splitlines() if again and path.exists() else []
        if lines and lines[0] != head:
            print("gpu-acceptance: hirc or the sizes are others than those of the call before: all is run again")
            lines = []
        for line in lines[1:]:
            try:
                entry = json.loads(line)
            except ValueError:  # the call before was ended while it wrote this line
                break
            self.kept.setdefault(entry["command"], []).append((entry["code"], entry["out"]))
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = open(path, "w", encoding="utf-8")
        self.file.write(head + "\n")

    def run(self, *command, env=None, limit=LIMIT_S):
        key = " ".join(map(str, command))
        kept = self.kept.get(key)
        if kept:
            code, out = kept.pop(0)
        else:
            left = self.end - time.monotonic() if self.end else limit
            if left <= 0:
                raise OutOfTime(key)
            code, out = run(*command, env=env, limit=min(limit, left))
            if code is None and left < limit:
                raise OutOfTime(key)
        self.file.write(json.dumps({"command": key, "code": code, "out": out}) + "\n")
        self.file.flush()
        return code, out

    def close(self):
        """Keeps outputs for later that were not taken in this call."""
        for key, entries in self.kept.items():
            for code, out in entries:
                self.file.write(json.dumps({"command": key, "code": code, "out": out}) + "\n")
        self.file.close()


def must_run(*command, env=None, runner=run, limit=LIMIT_S):
    code, out = runner(*command, env=env, limit=limit)
    if code == 77:
        raise Unable(out.strip().splitlines()[-1])
    if code:
        lines = [line for line in out.splitlines() if "error:" in line] or out.strip().splitlines()[-1:]
        raise (Unable if code == 5 else Failed)((lines or [f"exit {code}"])[0])
    if code is None:
        raise Failed(out)
    return out
