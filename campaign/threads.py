"""Many at once: fits in threads, after forks, in pools of processes; and signals in the middle.

Each case is a process of its own. What comes out is what one fit alone gives; Ctrl-C and SIGTERM
end a fit with the best labels so far or, before there are any, with KeyboardInterrupt.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import bckm
from campaign.part import Case, Part

WORK = ("threads", "forks", "pool", "interrupt", "terminate", "threads and forks")


def look(case: Case) -> None:
    """Let a process do one of these."""
    what = WORK[case.number % len(WORK)]
    seed = int(case.rng.integers(2**31))
    done = subprocess.run(
        [sys.executable, "-m", "campaign.threads", what, str(seed), str(case.folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    case.count(PART.what)
    assert done.returncode == 0, (what, seed, done.returncode, done.stderr[-2000:])
    for name, number in json.loads(done.stdout).items():
        case.count(name, number)


def _problem(seed: int, n: int = 400) -> tuple[np.ndarray, int, bckm.Constraints]:
    rng = np.random.default_rng(seed)
    X, k = rng.normal(size=(n, 3)), int(rng.integers(3, 7))
    kind = rng.integers(3)
    if kind == 0:
        return X, k, bckm.Constraints(size_min=n // k - 3, size_max=n // k + 3)
    if kind == 1:
        return X[:120], k, bckm.Constraints([(0, 1), (2, 3)], [(0, 2), (4, 5, 6)])
    load = bckm.Capacity(rng.integers(1, 9, 60), max=60 * 5.5 / k)
    return X[:60], k, bckm.Constraints(capacities={"kg": load})


def _fit(seed: int) -> tuple[list[int], float]:
    X, k, rules = _problem(seed)
    found = bckm.kmeans(X, k, rules, random_state=seed, n_init=1, max_iter=10)
    return found.labels.tolist(), found.inertia


def _threads(seeds: list[int]) -> dict[str, int]:
    alone = [_fit(seed) for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(_fit, seeds)) == alone
    return {"fits in threads": len(seeds)}


def _forks(seeds: list[int]) -> dict[str, int]:
    """Children of a process that has used its threads already."""
    alone = [_fit(seed) for seed in seeds]
    for seed, right in zip(seeds, alone, strict=True):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = int(_fit(seed) != right)
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(_waited(child)) == 0, seed
        assert _fit(seed) == right
    return {"fits after forks": len(seeds)}


def _waited(child: int) -> int:
    end = time.monotonic() + 100
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("a fit after a fork does not end")


def _pool(seeds: list[int]) -> dict[str, int]:
    alone = [_fit(seed) for seed in seeds]
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map_async(_fit, seeds).get(timeout=100) == alone, method
    return {"fits in pools": 2 * len(seeds)}


def _threads_and_forks(seeds: list[int]) -> dict[str, int]:
    """Forks while threads fit."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            _fit(seeds[0])

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        return _forks(seeds[:2])
    finally:
        stop.set()
        thread.join()


def _signaled(seeds: list[int], sign: signal.Signals) -> dict[str, int]:
    """A signal at a random moment of a long fit."""
    answers = {"signals": 0, "answers after signals": 0}
    rng = np.random.default_rng(seeds)
    if sign is signal.SIGTERM:  # as `bckm fit` does
        signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    for seed in seeds:
        X, k, rules = _problem(seed)
        timer = threading.Timer(float(rng.uniform(0.0, 0.3)), lambda: os.kill(os.getpid(), sign))
        answers["signals"] += 1
        try:
            timer.start()
            # also the signal may come before or after what is looked at
            found = bckm.kmeans(X, k, rules, random_state=seed, search="global", time_limit=60)
            timer.join()
            time.sleep(0.001)
        except KeyboardInterrupt:
            continue
        assert bckm.verify(found.labels, k, rules) == []
        means = np.array([X[found.labels == i].mean(axis=0) for i in range(k)])
        inertia = np.square(X - means[found.labels]).sum()
        assert abs(found.inertia - inertia) <= 1e-9 * inertia
        assert found.lower_bound <= found.objective
        answers["answers after signals"] += 1
    return answers


def _commands(seeds: list[int], folder: str) -> dict[str, int]:
    """SIGTERM and SIGINT to the command line: code 4 with an answer, or 130 without one."""
    rng = np.random.default_rng(seeds)
    path = os.path.join(folder, "data.csv")
    with open(path, "w") as handle:
        handle.write("x,y\n" + "\n".join(f"{a},{b}" for a, b in rng.normal(size=(3000, 2))) + "\n")
    for at, sign in enumerate((signal.SIGINT, signal.SIGTERM)):
        out = os.path.join(folder, f"out{at}.csv")
        words = ["fit", path, "-k", "30", "--size", "90:110", "-q", "-o", out]
        words += ["--search", "global", "--time-limit", "60"]  # so that it does not end by itself
        child = subprocess.Popen(
            [sys.executable, "-m", "bckm", *words], stderr=subprocess.PIPE, text=True
        )
        time.sleep(float(rng.uniform(0.2, 4.0)))
        child.send_signal(sign)
        _, told = child.communicate(timeout=100)
        assert "Traceback" not in told or child.returncode < 0, told
        early = (-signal.SIGTERM, -signal.SIGINT, 1)  # before Python or the command has begun
        assert child.returncode in (4, 130, *early), (child.returncode, told)
        assert os.path.exists(out) == (child.returncode == 4)
    return {"commands stopped": 2}


def main() -> None:
    """Do one kind of work in this process."""
    what, seed, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    seeds = np.random.default_rng(seed).integers(2**31, size=4).tolist()
    if what == "interrupt":
        found = _signaled(seeds, signal.SIGINT)
    elif what == "terminate":
        found = {**_signaled(seeds, signal.SIGTERM), **_commands(seeds, folder)}
    else:
        doing: dict[str, Any] = {
            "threads": _threads,
            "forks": _forks,
            "pool": _pool,
            "threads and forks": _threads_and_forks,
        }
        found = doing[what](seeds)
    sys.stdout.write(json.dumps(found))


PART = Part("threads", "processes", 30, look, chunk=6, limit=300)

if __name__ == "__main__":
    main()
