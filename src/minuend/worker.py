"""Answers requests in a separate process, so that a runtime or library that crashes takes nobody with it.

Runs as a script under any Python from 3.10 on that has NumPy and the runtime, this package not needed:
``python -I worker.py ADAPTER.py``. ADAPTER is a file of ``adapters``; see :mod:`minuend.runtimes.running`. Other
children run by it too: a file with ``serve_requests``. The caller's side is :class:`minuend.child.Child`.

A message on standard input or output is a line of JSON that ends in the sizes of the byte strings behind it:
``{"head": {…}, "sizes": [12, 4]}``. The head of a request to a runtime is a model (``form``, ``inputs``: [name, dtype,
shape]…); its byte strings are the model, its weights, and one for each input. An answer's head is
``{"outputs": [[dtype, shape]…]}`` with a byte string each, ``{"refused": message, "stage": "build" or "run"}``, or
``{"malformed": message}`` where the adapter breaks its own form.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import select
import signal
import sys

TYPE_CHECKING = False  # typing has it too, and takes longer to import than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any


def read(stream: Any) -> tuple[dict[str, Any], list[bytes]] | None:
    """Read one message; ``None`` at the end of the stream."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    parts = []
    for size in message["sizes"]:
        part = stream.read(size)
        if len(part) != size:
            return None
        parts.append(part)
    return message["head"], parts


def write(stream: Any, head: Mapping[str, Any], parts: Sequence[bytes | bytearray | memoryview] = ()) -> None:
    """Write one message."""
    line = json.dumps({"head": head, "sizes": [len(part) for part in parts]})
    stream.write(line.encode() + b"\n")
    for part in parts:
        stream.write(part)
    stream.flush()


def release(adapter: Any) -> str | None:
    """The release of a runtime: what its adapter says, else that of its package; ``None`` where it is not installed."""
    if hasattr(adapter, "release"):
        return adapter.release()  # type: ignore[no-any-return]
    packages = (adapter.PACKAGE, *getattr(adapter, "OTHERWISE", ()))
    return _release_found(getattr(adapter, "MODULE", adapter.PACKAGE.replace("-", "_")), packages)


def _release_found(module: str, packages: Sequence[str]) -> str | None:
    """The release of the package that an import finds: the one beside the module, whichever others there are."""
    folders = _folders(module)
    if (found := _release_beside(folders, packages)) is not None:
        return found
    from importlib import metadata

    for package in packages:
        for one in metadata.distributions(name=package, path=folders):
            return str(one.version)
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return None


def _release_beside(folders: Sequence[str], packages: Sequence[str]) -> str | None:
    """The release that an installer noted beside a module, of the first package; ``None`` where metadata must say it.

    ``importlib.metadata`` gives the same, and takes 20 ms to import.
    """
    names = [(folder, name) for folder in folders if os.path.isdir(folder) for name in os.listdir(folder)]
    for package in packages:
        for folder, name in names:
            stem, _, kind = name.rpartition(".")
            if kind not in ("dist-info", "egg-info") or _normal(stem.partition("-")[0]) != _normal(package):
                continue
            return _version_in(os.path.join(folder, name, "METADATA")) if kind == "dist-info" else None
    return None


def _version_in(path: str) -> str | None:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if line.startswith("Version: "):
                return line.partition(" ")[2].strip()
            if not line.strip():
                break
    return None


def _normal(name: str) -> str:
    return name.replace("-", "_").replace(".", "_").lower()


def _folders(module: str) -> list[str]:
    """The folders in which an import finds a module."""
    import importlib.machinery
    import importlib.util

    spec = None
    with contextlib.suppress(ImportError, ValueError, AttributeError):  # of a package that is not there
        # What this process has imported already may be another one than what a new process imports.
        spec = importlib.machinery.PathFinder.find_spec(module) or importlib.util.find_spec(module)
    if spec is None:
        return []
    return [os.path.dirname(place) for place in (*(spec.submodule_search_locations or ()), spec.origin or "") if place]


def _another(adapter: Any, stated: str | None) -> str:
    """Say that a module without metadata beside it is of another release than is stated; ``""`` where it is not."""
    if stated is None or hasattr(adapter, "release"):
        return ""
    name = getattr(adapter, "MODULE", adapter.PACKAGE.replace("-", "_"))
    module = sys.modules.get(name)
    own = getattr(module, "__version__", None)
    packages = (adapter.PACKAGE, *getattr(adapter, "OTHERWISE", ()))
    if not isinstance(own, str) or own.startswith(stated) or stated.startswith(own):
        return ""
    from importlib import metadata

    if any(True for package in packages for _ in metadata.distributions(name=package, path=_folders(name))):
        return ""
    return f"{getattr(module, '__file__', name)} is {name} {own}, and the metadata that is found says {stated}"


def answer(
    adapter: Any, head: dict[str, Any], parts: Sequence[bytes], stated: str | None = None
) -> tuple[dict[str, Any], list[bytes]]:
    """Build and run one model; ``stated`` is the release that the adapter's runtime is taken for."""
    stage = "build"
    try:
        run = adapter.prepare(head, parts[0], parts[1])
        stage = "run"
        outputs = run([(*told, data) for told, data in zip(head["inputs"], parts[2:], strict=True)])
    except (Exception, SystemExit) as error:
        return {"refused": f"{type(error).__name__}: {error}", "stage": stage}, []
    if wrong := _another(adapter, stated) or _malformed(outputs):
        return {"malformed": wrong}, []
    return {"outputs": [[dtype, list(map(int, shape))] for dtype, shape, _ in outputs]}, [
        data for _, _, data in outputs
    ]


def _malformed(outputs: Any) -> str:
    """Say what is wrong with the form of what an adapter gives; ``""`` where nothing is."""
    if not isinstance(outputs, list | tuple):
        return f"its run() returned a {type(outputs).__name__}; expected a list of (dtype, shape, bytes)"
    for k, one in enumerate(outputs):
        if not isinstance(one, list | tuple) or len(one) != 3:
            return f"output {k} is {_shown(one)}; expected (dtype, shape, bytes)"
        dtype, shape, data = one
        if not isinstance(dtype, str):
            return f"the dtype of output {k} is {_shown(dtype)}; expected a name such as 'float32'"
        if not isinstance(shape, list | tuple) or not all(_is_size(dim) for dim in shape):
            return f"the shape of output {k} is {_shown(shape)}; expected a sequence of sizes"
        if not isinstance(data, bytes | bytearray | memoryview):
            return f"the elements of output {k} are a {type(data).__name__}; expected bytes"
    return ""


def _is_size(dim: Any) -> bool:
    with contextlib.suppress(Exception):
        return not isinstance(dim, bool) and 0 <= operator.index(dim) < 1 << 63
    return False


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"a {type(value).__name__} whose repr() raises {type(error).__name__}"
    return text if len(text) <= 100 else f"{text[:100]}…"


def main(path: str, found: str = "") -> None:
    """Answer requests until there are no more.

    Args:
        path: the file of an adapter, or of another child: that one has ``serve_requests``, which gets the server.
        found: the folders where modules are found, as JSON; by default this Python's own.
    """
    with Server() as server:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime sends statistics of use else
        if found.startswith("["):
            sys.path[:] = json.loads(found)
        adapter = load(path)
        if hasattr(adapter, "serve_requests"):
            adapter.serve_requests(server)
            return
        about = {"release": release(adapter), "python": ".".join(map(str, sys.version_info[:3]))}
        server.write(about)
        server.serve(lambda head, parts: answer(adapter, head, parts, about["release"]))


def load(path: str) -> Any:
    """Return a file as a module of a package, which is its folder: it can import adjacent files."""
    import importlib.util
    import types

    package = types.ModuleType("adapters")
    package.__path__ = [os.path.dirname(path)]
    sys.modules[package.__name__] = package
    spec = importlib.util.spec_from_file_location("adapters.adapter", path)
    assert spec is not None
    assert spec.loader is not None
    adapter = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapter)
    return adapter


class Server:
    """Answers the requests that the caller sends: reads one, computes, writes the answer, reads the next one.

    The answers have standard output for themselves: what else is printed goes to standard error. A crash leaves no
    file, and the folder for temporary files that this process was given is removed at the end.
    """

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        leave_no_core()
        self._folder, self._caller = own_folder(), caller_pipe()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        remove(self._folder)

    def detach(self) -> None:
        """Leave Ctrl-C to the caller, and the current folder to whoever removes it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.chdir(os.path.abspath(os.sep))

    def read(self) -> tuple[dict[str, Any], list[bytes]] | None:
        """Read a message of the caller; ``None`` where no more come."""
        return read(sys.stdin.buffer)

    def write(self, head: Mapping[str, Any], parts: Sequence[bytes | bytearray | memoryview] = ()) -> None:
        """Write a message to the caller."""
        write(self._answers, head, parts)

    def serve(self, work: Work, own_bytes: int | None = None) -> None:
        """Answer requests until the caller sends no more.

        Args:
            work: what makes an answer of a request. own_bytes: where requests state bounds, the address space that this
                process takes without one. They are ``"seconds"`` of processor time, and what exceeds these ends the
                process; and ``"bytes"`` of memory: the answer is ``{"exceeded": True}`` where they do not suffice, and
                ``{"refused": message}`` where the work fails.
        """
        while (request := self.read()) is not None:
            with ending_with_caller(self._caller):
                head, parts = work(*request) if own_bytes is None else _bounded(work, *request, own_bytes)
            self.write(head, parts)
            if own_bytes is not None:
                _bound(0, None)  # a request larger than this one has to be read before it states its bounds


if TYPE_CHECKING:
    Answer = tuple[Mapping[str, Any], Sequence[bytes | bytearray | memoryview]]
    Work = Callable[[dict[str, Any], list[bytes]], Answer]
    """What makes an answer of a request."""


def _bounded(work: Work, head: dict[str, Any], parts: list[bytes], own_bytes: int) -> Answer:
    try:
        _bound(head["seconds"], own_bytes + head["bytes"])
        return work(head, parts)
    except Exception as error:
        if isinstance(error, MemoryError) or "bad_alloc" in str(error):  # of C++, in a message
            return {"exceeded": True}, []
        return {"refused": str(error) or type(error).__name__}, []


def _bound(seconds: int, nbytes: int | None) -> None:
    """Bound processor time and address space, 0 and ``None`` for no bounds, where the system has such."""
    with contextlib.suppress(ImportError):  # Windows has none: there the caller alone bounds the time
        import resource

        signal.setitimer(signal.ITIMER_PROF, seconds)  # what nobody handles ends the process
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = [one for one in (nbytes, hard) if one is not None and one != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(wanted, default=resource.RLIM_INFINITY), hard))


def leave_no_core() -> None:
    """Have a crash of this process leave no file."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has neither the module nor such files
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


CALLER = "MINUEND_CALLER"
"""The environment variable that holds the number of a pipe's read end, whose write end the caller has."""


def caller_pipe() -> int | None:
    """Return the pipe that is closed when the caller ends; ``None`` where there is none, or the system is not Linux."""
    given = os.environ.pop(CALLER, "")  # what this process starts has no such pipe
    try:
        import fcntl

        pipe = int(given)
        os.set_inheritable(pipe, False)
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
    except (ImportError, AttributeError, ValueError, OSError):
        return None
    return pipe


@contextlib.contextmanager
def ending_with_caller(pipe: int | None) -> Iterator[None]:
    """Have the kernel kill this process if its caller ends within the block.

    Native code that loops lets no Python code run, so neither a thread nor a signal handler can end the process. The
    kernel sends SIGKILL when the last write end of the pipe is closed (``O_ASYNC``). Linux's ``PR_SET_PDEATHSIG`` would
    kill it when the thread ends that started it, and callers start processes in threads that end early.

    Outside of the block the end of standard input ends the process, which then removes its folder.
    """
    if pipe is None:
        yield
        return
    import fcntl

    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        poll = select.poll()
        poll.register(pipe, 0)
        if poll.poll(0):  # the caller ended before O_ASYNC was set, so no signal comes
            raise SystemExit
        yield
    finally:
        fcntl.fcntl(pipe, fcntl.F_SETFL, flags)


def own_folder() -> str:
    """Return the folder for temporary files that this process was given, and is to remove at its end; else ``""``."""
    given = os.environ.pop("MINUEND_TEMPORARY", "")  # what this process starts has not been given it
    return given if given == os.environ.get("TMPDIR") else ""


def remove(folder: str) -> None:
    """Remove a folder, in case whoever started this process is not there any more to do so."""
    if folder:
        import shutil  # slow

        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
