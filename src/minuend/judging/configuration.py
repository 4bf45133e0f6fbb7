"""``minuend.toml``: what a project checks, what it knows of its models beyond them, and which findings do not count.

.. code-block:: toml

    models = ["exports"]                # what ``minuend check`` looks at, and on what; paths are relative to this file
    targets = ["openvino-cpu"]
    hint = "f32"
    cpu = "avx2"
    fail-on = ["different-numbers"]
    tolerate = ["sign-of-zero"]         # severities that do not count, of every model

    [assume]                            # of every model that has a value of this name
    positions = "0..131071"

    [[model]]                           # of some models; paths are relative to this file
    path = "exports/bert*.onnx"
    assume = {input_ids = "0..30521"}
    tolerate = ["sign-of-zero", "rounding"]

    [target."openvino-cpu"]             # of models of which [[model]] says nothing else
    tolerate = ["subnormal"]

    [[accept]]                          # findings that are known, with the reason
    model = "exports/bert.onnx"
    node = "/embeddings/Sub"
    target = "openvino-cpu"
    verdict = "different-numbers"
    reason = "ids are below 2**31"

The file beside a model counts, else the nearest one above it, as far as the project goes: up to the folder with
``.git`` or the working directory.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from minuend.errors import FileFormatError, MinuendError, listed, near, shown
from minuend.judging.globs import matches, spelled
from minuend.judging.options import verdicts_of
from minuend.models.ranges.assumed import Assumed, assumptions
from minuend.runtimes import targets
from minuend.runtimes.answers import VERDICTS
from minuend.runtimes.tolerance import USUAL, Tolerance, Tolerances, names_target
from minuend.schema import Form, Item, Origin, Path, by_name, record

NAME = "minuend.toml"
LARGEST = 16 << 20
"""Bytes of the largest file that is read."""
LONGEST = 4096
"""Characters of the longest glob."""
DOTS = 200
"""Dots of the longest line: the time of a TOML key grows with the square of its parts."""
WHOLE = "the whole model"
"""The node of an entry that accepts what a run of a model gave."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An ``[[accept]]`` entry: the findings that it is about, ``""`` for any, and the reason.

    Attributes:
        model: a glob, relative to the file. node: a name, a place, or :data:`WHOLE` for a run. target: with a release
            or without. verdict: one of those that are not ok. number: which entry of its file it is, from 1 on.
    """

    model: str = ""
    node: str = ""
    target: str = ""
    verdict: str = ""
    reason: str = ""
    number: int = 0

    def concerns(self, model: str, judged: Iterable[str]) -> bool:
        """Whether it is about a model, by its path from the file, and about one of the targets that were judged."""
        return (not self.model or matches(self.model, model)) and any(self.names(target) for target in judged)

    def names(self, target: str) -> bool:
        """Whether it is about a target: about all, about its runtime, or about its release or the line of that."""
        return not self.target or names_target(self.target, target)

    def covers(self, model: str, target: str, nodes: Iterable[str], verdict: str) -> bool:
        """Whether it accepts a finding; ``nodes`` are what the node can be called."""
        return (
            self.concerns(model, [target]) and (not self.node or self.node in nodes) and self.verdict in ("", verdict)
        )

    def __str__(self) -> str:
        return ", ".join(part for part in (self.model, self.node, self.target, self.verdict) if part)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a table says of models that match the glob, ``""`` for all.

    Attributes:
        path: the glob. assume: what it assumes. where: names the table.
        tolerate: the severities that do not count; ``None`` where it does not say.
    """

    path: str
    assume: Mapping[str, Assumed]
    where: str
    tolerate: Tolerance | None = None


@dataclass(frozen=True, slots=True)
class Usual:
    """What ``minuend check`` takes where the command line does not say it.

    Attributes:
        models, targets: as there, and relative to the file; none where it does not say.
        fail_on: the verdicts that count, ``None`` where it does not say. hint: the precision hint.
        cpu: the newest instruction set of the processor.
    """

    models: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    fail_on: frozenset[str] | None = None
    hint: str = ""
    cpu: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """One file: its path, its text, and what it says; ``on`` says what is tolerated on targets, by their names."""

    path: str
    text: str = ""
    rules: tuple[Rule, ...] = ()
    accepts: tuple[Accepted, ...] = ()
    usual: Usual = Usual()
    tolerate: Tolerance = USUAL
    on: Mapping[str, Tolerance] = field(default_factory=dict)

    def relative(self, model: str) -> str:
        """Return a model's path from the file's folder, with ``/`` between names."""
        path = os.path.abspath(model)
        with contextlib.suppress(ValueError):  # another drive
            path = os.path.relpath(path, os.path.dirname(os.path.abspath(self.path)))
        return path.replace(os.sep, "/")

    def rules_of(self, model: str) -> Iterator[Rule]:
        """Yield what is assumed of a model; what comes later counts where both speak of one value."""
        path = self.relative(model)
        yield from (rule for rule in self.rules if not rule.path or matches(rule.path, path))

    def tolerances_of(self, model: str) -> Tolerances:
        """Return what is tolerated of a model: what its own table says counts before what is said of targets."""
        own = [rule.tolerate for rule in self.rules_of(model) if rule.tolerate is not None]
        return Tolerances(own[-1]) if own else Tolerances(self.tolerate, self.on)

    def below(self, path: str) -> str:
        """Return a path that is relative to the file as one that is relative to the working directory."""
        return os.path.normpath(os.path.join(os.path.dirname(self.path), path))


# ---- finding and reading --------------------------------------------------------------------------------------


class Configs:
    """The files that models have, each read once.

    Args:
        path: the one for all models; ``None``: each has its own. used: whether any is. made: whether the one for all
            may be missing, as it is made.
    """

    def __init__(self, path: str | None = None, *, used: bool = True, made: bool = False) -> None:
        self._path = None if path is None else os.path.normpath(path)
        self._used = used
        self._made = made
        self._read: dict[str, Config] = {}
        self._near_folders: dict[str, str | None] = {}
        # Models lie in many folders, which have the folders above in common.
        self._is_file, self._exists = functools.cache(os.path.isfile), functools.cache(os.path.exists)
        self._file_in = functools.cache(_file_in)

    def of(self, model: str) -> Config | None:
        """Return a model's file.

        Raises:
            FileFormatError: it is malformed. OSError: it cannot be read, or the one that was named is not there.
        """
        if not self._used:
            return None
        path = self._path or self._near(model)
        if path is None or (self._made and not os.path.exists(path) and path not in self._read):
            return None
        if path not in self._read:
            self._read[path] = read(path)
        return self._read[path]

    def _near(self, model: str) -> str | None:
        """The nearest file of a model; all models of a folder have the same."""
        folder = os.path.dirname(model)
        if folder not in self._near_folders:
            here = os.getcwd()
            found = (self._file_in(one, here) for one in homes(model, here, self._exists))
            there = (path for path in found if path in self._read or self._is_file(path))
            self._near_folders[folder] = next(there, None)
        return self._near_folders[folder]

    def whole(self) -> Config | None:
        """Return the file that says what is checked: the one that was named, or that of the working directory."""
        return self.of(NAME)

    def path_for(self, model: str) -> str:
        """Return where a model's file is, or where it is to be made: at the top of the project."""
        found = self.of(model)
        return found.path if found is not None else self._path or _candidates(model)[-1]

    def read_again(self) -> Configs:
        """Return the same files as not read yet."""
        return Configs(self._path, used=self._used, made=self._made)

    def adopt(self, path: str, text: str) -> None:
        """Take a file's text that is about to be written for what it says."""
        self._read[path] = parse(path, text)
        self._near_folders.clear()

    def all(self) -> tuple[Config, ...]:
        """Return those that were read so far."""
        return tuple(self._read.values())


def _candidates(model: str) -> list[str]:
    here = os.getcwd()
    return [_file_in(folder, here) for folder in homes(model, here)]


def _file_in(folder: str, here: str) -> str:
    """The path of a folder's file, relative where the folder lies in the working directory."""
    below = folder == here or folder.startswith(os.path.join(here, ""))
    return os.path.normpath(os.path.join(os.path.relpath(folder, here) if below else folder, NAME))


def homes(model: str, here: str, exists: Callable[[str], bool] = os.path.exists) -> Sequence[str]:
    """Return the absolute paths of the folders in which a model's file may lie, nearest first.

    Args:
        model: its path. here: the working directory. exists: whether there is a file or folder of a path.
    """
    folder = os.path.dirname(os.path.abspath(model))
    found = [folder]
    while folder != here and not exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:  # the model lies in no project: the file beside it is its own
            del found[1:]
            break
        folder = above
        found.append(folder)
    return found


def read(path: str) -> Config:
    """Read a file.

    Raises:
        FileFormatError: no TOML, or a table or key that is none of those above; the message names file, table and key.
        OSError: it cannot be read.
    """
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise FileFormatError(f"{path} has more than {LARGEST} bytes, the most that is read; split it by folders")
        return parse(path, data.decode())
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is no TOML: byte {error.start} is not UTF-8") from None


def parse(path: str, text: str) -> Config:
    """Read a file's text; see :func:`read`."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > DOTS:
            raise FileFormatError(f"{path}: line {number} has more than {DOTS} dots, the most that is read")
    import tomllib  # slow, and many projects have no such file

    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise FileFormatError(f"{path} is no TOML that is read: its arrays or tables nest too deep") from None
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path} is no TOML: {error}") from None
    except ValueError:  # which Python raises of integers of thousands of digits
        raise FileFormatError(f"{path} has an integer of more digits than are read") from None
    top = Item(_Toml(path), (), data)
    top.only(("models", "targets", "hint", "cpu", "fail-on", "tolerate", "assume", "model", "target", "accept"))
    assume = top.read("assume", _assumed, None)
    rules = [] if assume is None else [Rule("", assume, "[assume]")]
    return Config(
        path,
        text,
        (*rules, *map(_rule, _tables(top, "model"))),
        tuple(map(_accepted, _tables(top, "accept"))),
        Usual(
            top.read("models", _texts, ()),
            top.read("targets", _texts, ()),
            top.read("fail-on", _verdicts, None),
            top.read("hint", _text, ""),
            top.read("cpu", _text, ""),
        ),
        top.read("tolerate", _tolerance, USUAL),
        top.read("target", _on_targets, {}),
    )


class _Toml(Origin):
    """A file whose errors name a table by its header, and then a key."""

    says, came, keyed = "{place}: {message}", "{value}", "a table"

    def place(self, path: Path) -> str:
        if not path:
            return self.name
        if header := _header(path):
            return f"{self.name}: {header}"
        return f"{self.place(path[:-1])}{',' if path[:-1] else ':'} key {path[-1]!r}"


def _header(path: Path) -> str:
    """Return what stands above a table; ``""`` for what is none."""
    match path:
        case ("assume",):
            return "[assume]"
        case (("model" | "accept") as name, int(i)):
            return f"[[{name}]] number {i + 1}"
        case ("target", str(name)):
            return f"[target.{_quoted(name)}]"
    return ""


def _tables(top: Item, name: str) -> list[Item]:
    return top.read(name, lambda found: found.list(f"tables, each under [[{name}]]"), [])


def _rule(table: Item) -> Rule:
    table.only(("path", "assume", "tolerate"), required=("path",))
    if len(table.object()) == 1:
        raise FileFormatError(f"{table.place} says nothing of its models; expected assume or tolerate")
    assume = table.read("assume", _assumed, {})
    return Rule(_glob(table["path"]), assume, _header(table.path), table.read("tolerate", _tolerance, None))


def _verdicts(item: Item) -> frozenset[str]:
    return item.made(verdicts_of, _texts(item))


def _tolerance(item: Item) -> Tolerance:
    return item.made(Tolerance.of, _texts(item))


def _texts(item: Item) -> tuple[str, ...]:
    """Return the texts of a list; one may stand without it."""
    found = [item.value] if isinstance(item.value, str) else item.value
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        raise item.wrong("a list of texts")
    if any(len(one) > LONGEST for one in found):
        raise item.error(f"a text is longer than {LONGEST} characters")
    return tuple(found)


def _text(item: Item, fits: Callable[[str], object] = str.strip) -> str:
    return item.string("a text that is not empty", fits)


def _glob(item: Item) -> str:
    text = _text(item)
    if len(text) > LONGEST:
        raise item.error(f"{len(text)} characters; expected at most {LONGEST}")
    return text


def _assumed(item: Item) -> Mapping[str, Assumed]:
    found: dict[str, Assumed] = {}
    for name, one in item.members("a table of ranges by the values' names"):
        found |= item.made(assumptions, {name: one.value})
    return found


_on_targets = by_name(record(lambda tolerate: tolerate, tolerate=_tolerance), 'tables, each as [target."openvino-cpu"]')
_ACCEPT: Mapping[str, Form[str]] = {
    "model": _glob,
    "node": lambda item: _text(item, bool),  # a name may be white space, which a baseline then names
    "target": _text,
    "verdict": _text,
    "reason": _text,
}


def _accepted(table: Item) -> Accepted:
    table.only(_ACCEPT, required=("reason",))
    number = int(table.path[-1]) + 1
    found = Accepted(**{key: table.read(key, form, "") for key, form in _ACCEPT.items()}, number=number)
    if not str(found):
        wanted = listed([*_ACCEPT][:-1])
        raise FileFormatError(f"{table.place} accepts everything; expected {wanted} beside the reason")
    verdicts = [verdict for verdict in VERDICTS if verdict != "ok"]
    if found.verdict and found.verdict not in verdicts:
        message = f"no verdict {shown(found.verdict)}{near(found.verdict, verdicts)} can be accepted"
        raise table["verdict"].error(f"{message}; expected {listed(verdicts)}")
    return found


def check_targets(config: Config, judged: Iterable[str]) -> None:
    """Check that entries and tables name runtimes that are known, or are among those that are judged.

    Raises:
        FileFormatError: one does not.
    """
    known = dict.fromkeys(name.partition("@")[0] for name in (*targets.names(), *judged))
    named: list[tuple[Path, str]] = [
        *((("accept", one.number - 1, "target"), one.target) for one in config.accepts if one.target),
        *((("target", name), name) for name in config.on),
    ]
    for path, target in named:
        runtime = target.partition("@")[0]
        if runtime not in known:
            message = f"no runtime {shown(runtime)}{near(runtime, known)}; expected {listed(known)}"
            raise Item(_Toml(config.path), path, target).error(message)


# ---- a baseline -----------------------------------------------------------------------------------------------


def with_entries(config: Config, entries: Iterable[Accepted]) -> str:
    """Return a file's text with entries behind it; what is there stays as it is.

    Raises:
        MinuendError: the file holds its entries in a way that nothing can follow, or a name cannot be written.
    """
    end = "\r\n" if "\r\n" in config.text else "\n"
    text = config.text + (end if config.text and not config.text.endswith("\n") else "")
    for one in entries:
        named = replace(one, model=spelled(one.model))
        rows = [f"{key} = {_quoted(value)}" for key in _ACCEPT if (value := getattr(named, key))]
        text += (end if text else "") + end.join(["[[accept]]", *rows, ""])
    import tomllib

    try:
        text.encode()
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeEncodeError) as error:
        raise MinuendError(
            f"{config.path}: no entries can be written behind what is there ({error}); write those that are there "
            "as tables, each under [[accept]]"
        ) from None
    return text


def _quoted(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, which has one character more to escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def baseline_reason() -> str:
    """The reason of an entry that has not been reviewed yet."""
    return f"baseline of {datetime.date.today().isoformat()}: known, not looked at yet"
