"""Models that are named by files, folders and globs: each once, in the order in which they are named."""

from __future__ import annotations

import fnmatch
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from minuend.errors import FileFormatError
from minuend.models.opening import formats, suffixes

_MAGIC = frozenset("*?[")


def _raise(error: OSError) -> None:
    raise error


Lost: TypeAlias = Callable[[OSError], object]


def search(given: Iterable[str], left: Callable[[str], object] = str, lost: Lost = _raise) -> list[str]:
    """Return the paths of models.

    Args:
        given: files, which are taken as they are; folders, which are searched, those in them too unless their name
            begins with a dot; and globs, where a shell has not expanded them (``**`` stands for any folders).
        left: is called with the path of each file that was found, that Git LFS did not fetch, and that may be a model.
        lost: is called with what keeps a folder from being listed, beside which there are models.

    Raises:
        FileFormatError: a folder without a model, or a glob that no model matches. OSError: what ``lost`` raises, or no
            model beside a folder that cannot be listed.
    """
    found: dict[str, str] = {}
    errors: list[OSError] = []
    for one in given:
        for path in _models(one, left, errors):
            found.setdefault(os.path.realpath(path), path)
    if errors and not found:
        raise errors[0]
    for error in {error.filename: error for error in errors}.values():
        lost(error)
    return list(found.values())


def _models(one: str, left: Callable[[str], object], errors: list[OSError]) -> list[str]:
    before = len(errors)
    if os.path.isdir(one):
        models = [path for path in _within(one, errors) if _is_model(path, left)]
        if not models and len(errors) == before:
            raise FileFormatError(f"{one} is a folder without a model; expected {suffixes()}")
        return models
    if os.path.lexists(one) or not _MAGIC.intersection(one):
        return [one]
    matches = sorted(_expanded(one, errors))
    models = [path for match in matches for path in (_within(match, errors) if os.path.isdir(match) else [match])]
    models = [path for path in models if _is_model(path, left)]
    if not models and len(errors) == before:
        message = f"{len(matches)} match it, and none is a model" if matches else "no file matches it"
        raise FileFormatError(f"{one}: {message}; expected {suffixes()}")
    return models


def _expanded(pattern: str, errors: list[OSError]) -> set[str]:
    """Return the paths that a glob means, by :mod:`glob`'s rules; a folder is listed once for each part of it.

    ``**`` does not follow links to folders, which may lead back to where they are.
    """
    parts = pattern.split("/")
    paths = {"" if parts[0] else "/"}
    for before, part in itertools.pairwise(["", *parts]):
        if part == "**" and before != "**":
            paths = {below for path in paths for below in _folders(path, errors)}
        elif part not in ("", "**"):
            paths = {child for path in paths for child in _children(path, part, errors)}
    return paths


def _folders(path: str, errors: list[OSError]) -> Iterator[str]:
    """Yield a folder and all below it but those whose names begin with a dot."""
    for home, folders, _ in os.walk(path or os.curdir, onerror=functools.partial(_note_of_folder, errors)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield os.path.normpath(home) if path else os.path.normpath(home).removeprefix(os.curdir)


def _children(path: str, part: str, errors: list[OSError]) -> Iterator[str]:
    """Yield what a folder has of a name, or of the names that a pattern means."""
    names = [part]
    if _MAGIC.intersection(part):
        try:
            names = fnmatch.filter(os.listdir(path or os.curdir), part)
        except OSError as error:
            _note_of_folder(errors, error)
            return
        names = [name for name in names if part.startswith(".") or not name.startswith(".")]
    found = (os.path.join(path, name) for name in names)
    yield from (one for one in found if os.path.lexists(one))


def _within(folder: str, errors: list[OSError]) -> Iterator[str]:
    """The files in a folder and in those below it, by name."""
    for home, folders, files in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.normpath(os.path.join(home, name)) for name in sorted(files))


def _note_of_folder(errors: list[OSError], error: OSError) -> None:
    """Note what keeps a folder from being listed: models in it are left out; a file is none."""
    if not isinstance(error, NotADirectoryError | FileNotFoundError):
        errors.append(error)


def _is_model(path: str, left: Callable[[str], object]) -> bool:
    """Whether a file that was found is a model; one that cannot be looked into may be, and a link to nothing."""
    suffix = os.path.splitext(path)[1].lower()
    for known in formats().values():
        if suffix in known.SUFFIXES:
            try:
                if not os.path.isfile(path):
                    return not os.path.exists(path)
                if known.is_model(path):
                    return True
                if _is_pointer(path):
                    left(path)
            except OSError:
                return True
    return False


def _is_pointer(path: str) -> bool:
    from minuend.files.streaming.reading import is_pointer

    with open(path, "rb") as stream:
        return is_pointer(stream.read(_HEAD))


_HEAD = 64
"""Bytes that tell a pointer of Git LFS."""
