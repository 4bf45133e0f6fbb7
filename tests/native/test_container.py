"""Threads and kept memory in a container: what its control groups allow, in trees of files and in real groups."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import control_groups
import numpy as np
import pytest
from control_groups import V1, V2

import minuend as mn
from minuend import _native

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no control groups")

MIB = 1 << 20
GIB = 1 << 30
NONE = 9223372036854771712  # as version 1 says that memory has no limit


@pytest.fixture
def enter():
    """Take a tree of files for the groups of this process, until the test ends."""
    threads, limit = _native.get_num_threads(), _native.cache_limit()
    mn.clear_cache()
    yield _native.enter_container
    _native.enter_container("")
    mn.set_num_threads(threads)
    mn.set_cache_limit(limit)
    mn.clear_cache()


def stat(inactive: int, total: int) -> str:
    return f"cache {total}\nrss 5\ninactive_file {inactive}\ntotal_cache {total}\ntotal_inactive_file {total}"


TREES = {
    "no groups": ("", "", {}, (None, None, None)),
    "no limits, version 2": ("0::/user.slice", V2, {"sys/fs/cgroup/user.slice/memory.max": "max"}, (None, None, None)),
    "no limits, version 1": ("4:memory:/\n2:cpu,cpuacct:/", f"{V1['memory']}\n{V1['cpu']}",
         {"sys/fs/cgroup/memory/memory.limit_in_bytes": str(NONE), "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
          "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000"},
         (None, None, None)),
    "a pod that sees the whole hierarchy, version 2": (
        "0::/kubepods/pod7/app",
        V2,
        {
            "sys/fs/cgroup/kubepods/cpu.max": "max 100000",
            "sys/fs/cgroup/kubepods/pod7/cpu.max": "250000 100000",
            "sys/fs/cgroup/kubepods/pod7/memory.max": str(4 * GIB),
            "sys/fs/cgroup/kubepods/pod7/memory.current": str(3900 * MIB),
            "sys/fs/cgroup/kubepods/pod7/memory.stat": "anon 7\ninactive_file 0",
            "sys/fs/cgroup/kubepods/pod7/app/cpu.max": "800000 200000",
            "sys/fs/cgroup/kubepods/pod7/app/memory.max": str(GIB),
            "sys/fs/cgroup/kubepods/pod7/app/memory.high": "max",
            "sys/fs/cgroup/kubepods/pod7/app/memory.current": str(500 * MIB),
            "sys/fs/cgroup/kubepods/pod7/app/memory.stat": f"anon 7\ninactive_file {100 * MIB}",
        },
        (2, GIB, 196 * MIB),  # the least of each: the quota and what is left are the pod's, the limit its container's
    ),
    "the mounted part is the process's own, version 1": (
        "9:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc",
        f"{V1['memory']}\n{V1['cpu']}".replace(" / ", " /docker/abc "),
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": str(GIB),
            "sys/fs/cgroup/memory/memory.usage_in_bytes": str(900 * MIB),
            "sys/fs/cgroup/memory/memory.stat": stat(inactive=1 * MIB, total=300 * MIB),
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
        },
        (1, GIB, 424 * MIB),  # half a CPU is one thread; files that can be dropped are those of the groups below, too
    ),
    "memory.high is a limit, and may be exceeded": ("0::/a", V2,
         {"sys/fs/cgroup/a/memory.max": str(GIB), "sys/fs/cgroup/a/memory.high": str(200 * MIB),
          "sys/fs/cgroup/a/memory.current": str(300 * MIB), "sys/fs/cgroup/a/memory.stat": "inactive_file 0"},
         (None, 200 * MIB, -100 * MIB)),
    "groups of another part are not this process's": ("0::/a", V2.replace(" / ", " /b "),
         {"sys/fs/cgroup/memory.max": str(GIB), "sys/fs/cgroup/cpu.max": "100000 100000"}, (None, None, None)),
    "a name that only begins alike is not an outer group": ("0::/pods/a", V2.replace(" / ", " /pod "),
         {"sys/fs/cgroup/cpu.max": "100000 100000", "sys/fs/cgroups/a/cpu.max": "100000 100000"}, (None, None, None)),
    "a mount with a space in its name, and an old hierarchy beside version 2": ("4:cpu:/x\n0::/x",
         V2.replace("/sys/fs/cgroup", "/my\\040groups") + "\n" + V1["cpu"],
         {"my groups/x/cpu.max": "max 100000", "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "700000",
          "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000"},
         (7, None, None)),
    "a limit that nobody reaches": ("0::/a", V2, {"sys/fs/cgroup/a/cpu.max": f"{100_000 * 10**9 * 5} 100000"},
         (None, None, None)),
}  # fmt: skip


@pytest.mark.parametrize(("groups", "mounts", "files", "want"), TREES.values(), ids=TREES)
def test_what_the_groups_allow(tmp_path, enter, groups, mounts, files, want):
    enter(control_groups.tree(tmp_path, groups, mounts, files))
    assert _native.container() == want


def test_a_file_that_cannot_be_read_now_is_an_error_to_who_asks_and_changes_nothing_else(tmp_path, enter):
    root = control_groups.pod(tmp_path, GIB, 100 * MIB, cpus=1)
    enter(root)
    limit = tmp_path / "sys/fs/cgroup/memory.max"
    limit.unlink()
    limit.mkdir()
    with pytest.raises(OSError, match="limits cannot be read"):
        _native.container()
    results = [mn.subtract(np.ones(32 * MIB, np.uint8), np.uint8(1)) for _ in range(3)]
    del results
    assert _native.cache_limit() == 128 * MIB


@pytest.mark.parametrize(("cpus", "threads"), [(0.2, 1), (1, 1), (1.9, 1)])
def test_threads_are_the_whole_cpus_of_the_quota(tmp_path, enter, cpus, threads):
    enter(control_groups.pod(tmp_path, GIB, 0, cpus=cpus))
    assert _native.get_num_threads() == threads


def test_a_quota_beyond_the_cpus_changes_nothing(tmp_path, enter):
    enter("")
    own = _native.get_num_threads()
    enter(control_groups.pod(tmp_path, GIB, 0, cpus=5000))
    assert _native.get_num_threads() == own


@pytest.mark.parametrize(
    ("limit", "used", "dropped", "bound"),
    [
        (GIB, 100 * MIB, 0, 128 * MIB),  # an eighth
        (GIB, 924 * MIB, 0, 50 * MIB),  # half of what is left
        (GIB, 924 * MIB, 60 * MIB, 80 * MIB),  # which files can make room for
        (GIB, 2 * GIB, 0, 0),
        (1 << 50, 1 << 49, 0, None),  # the machine has less
    ],
)
def test_the_bound_is_an_eighth_or_half_of_what_is_left(tmp_path, enter, limit, used, dropped, bound):
    enter("")
    own = _native.cache_limit()
    enter(control_groups.pod(tmp_path, limit, used, dropped=dropped))
    assert _native.cache_limit() == (own if bound is None else min(bound, own))


def test_twenty_freed_results_of_64_mib_keep_an_eighth_of_a_pod(tmp_path, enter):
    enter(control_groups.pod(tmp_path, GIB, 200 * MIB))
    a = np.zeros(1, np.uint8)
    wide = np.broadcast_to(a, (64 * MIB,))
    for _ in range(20):
        results = [mn.subtract(wide, a) for _ in range(2)]
        del results
        assert _native.cached_bytes() <= 128 * MIB
    assert _native.cached_bytes() > 64 * MIB  # one for the next


def test_kept_memory_is_given_back_when_the_pod_fills(tmp_path, enter):
    root = control_groups.pod(tmp_path, GIB, 100 * MIB)
    enter(root)
    results = [mn.subtract(np.ones(20 * MIB, np.uint8), np.uint8(1)) for _ in range(5)]
    del results
    kept = _native.cached_bytes()
    assert kept > 100 * MIB
    control_groups.pod(tmp_path, GIB, GIB - 10 * MIB)
    result = mn.subtract(np.ones(17 * MIB, np.uint8), np.uint8(1))  # of another size: it grows
    assert _native.cached_bytes() <= (kept + 10 * MIB - 17 * MIB) / 2
    del result


def test_a_bound_that_somebody_sets_is_kept_to(tmp_path, enter):
    enter(control_groups.pod(tmp_path, GIB, GIB))
    mn.set_cache_limit(200 * MIB)
    results = [mn.subtract(np.ones(40 * MIB, np.uint8), np.uint8(1)) for _ in range(4)]
    del results
    assert 160 * MIB <= _native.cached_bytes() <= 200 * MIB


# ---- real groups ------------------------------------------------------------------------------------------------


def run_python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_in_a_group(controller: str, limit: int, script: str, threads: str = "") -> subprocess.CompletedProcess[str]:
    """Run a script in a group of its own, named ``group`` in it; skip the test where none can be made."""
    made = False
    try:
        with control_groups.real_group(controller) as group:
            control_groups.set_limit(group, limit)
            made = True
            enter = (
                f"from pathlib import Path\ngroup = Path({str(group)!r})\n(group / 'cgroup.procs').write_text('0')\n"
            )
            return run_python(enter + textwrap.dedent(script), MINUEND_NUM_THREADS=threads)
    except OSError as error:
        if made:
            raise
        pytest.skip(f"no control group can be made: {error}")


def test_with_little_memory_in_a_real_group_what_is_kept_leaves_room_for_others():
    # 192 MiB are freed, and 150 MiB are needed besides: together they are more than the group may have.
    script = """
        import numpy as np, minuend as mn
        from minuend import _native
        small = np.zeros(1, np.uint8)
        wide = np.broadcast_to(small, (16 << 20,))
        results = [mn.subtract(wide, small) for _ in range(10)]
        del results
        kept = _native.cached_bytes()
        other = np.ones(150 << 20, np.uint8)
        result = mn.subtract(np.broadcast_to(small, (17 << 20,)), small)
        print(_native.container()[1] >> 20, kept <= 32 << 20, _native.cached_bytes() < kept)
    """
    done = run_in_a_group("memory", 256 * MIB, script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "256 True True\n", "")


@pytest.mark.skipif(len(getattr(os, "sched_getaffinity", lambda _: [0])(0)) < 2, reason="one CPU")
def test_in_a_real_group_threads_follow_the_quota_while_it_changes():
    script = """
        import sys, time
        import numpy as np
        from minuend import _native
        from minuend.arrays.functions import subtract
        sys.path[:0] = [SUPPORT]
        import control_groups
        print(_native.get_num_threads())
        control_groups.set_limit(group, 2)
        a, start = np.ones(2_000_000, np.uint8), time.monotonic()
        while _native.get_num_threads() == 1 and time.monotonic() - start < 20:
            subtract(a, a)
        print(_native.get_num_threads())
    """.replace("SUPPORT", repr(str(Path(control_groups.__file__).parent)))
    done = run_in_a_group("cpu", 1, script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n2\n", "")


def test_a_number_of_threads_that_was_asked_for_is_not_overruled():
    script = """
        import numpy as np, minuend as mn
        a = np.ones(2_000_000, np.uint8)
        mn.subtract(a, a)
        print(mn.get_num_threads())
    """
    assert run_in_a_group("cpu", 1, script, threads="7").stdout == "7\n"
