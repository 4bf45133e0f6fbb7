"""Which tensors of two files go together, and by whose rules."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from minuend.core import shapes
from minuend.core.elements import ElementType
from minuend.core.shapes import Broadcast, size, static
from minuend.errors import DTypeError, FileFormatError, MinuendError, SpecError
from minuend.files import Tensor, TensorFile, grids, nodata, scale_offset
from minuend.files.base import About, clipped, quoted
from minuend.files.formats.conventions import without_origin
from minuend.standards.dialects import dialect
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import validate
from minuend.standards.version import OpVersion


@dataclass(frozen=True, slots=True)
class Rules:
    """Whose rules check and join the operands: a version's with a node's attributes, or ``minuend.subtract``'s."""

    op: OpVersion | None = None
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def join(self, a: Tensor, b: Tensor) -> Broadcast:
        """Check two tensors and return how their shapes join."""
        if self.op is not None:
            x, y = (TensorType(tensor.element, tensor.shape) for tensor in (a, b))
            return validate(Node(op=self.op, operands=(x, y), attributes=self.attributes))
        if a.element is not b.element:
            raise DTypeError(
                "types", f"A is of {a.element} and B of {b.element}; nothing is promoted, convert one of them first"
            )
        return shapes.numpy(a.shape, b.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to other processes by name: a version's row is in every one of them."""
        version = None if self.op is None else (self.op.dialect, self.op.version)
        return (_rules, (version, dict(self.attributes)))

    def __str__(self) -> str:
        if self.op is None:
            return ""
        stated = "".join(f", {name}={value}" for name, value in self.attributes.items())
        return f"{self.op.dialect} {self.op}{stated}"


def _rules(version: tuple[str, int | str] | None, attributes: Mapping[str, Any]) -> Rules:
    return Rules(None if version is None else dialect(version[0]).resolve(version[1]), attributes)


NUMPYS = Rules()
"""Those of ``minuend.subtract``: shapes join as NumPy's do, element types are equal."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tensors that go together, and how their shapes join; ``where`` names them in messages, if need be."""

    name: str
    a: Tensor
    b: Tensor
    joined: Broadcast
    where: str = ""

    @property
    def element(self) -> ElementType:
        return self.a.element

    @property
    def shape(self) -> tuple[int, ...]:
        return static(self.joined.shape or ())

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The grid of A's elements, where the difference has A's shape; ``None`` where there is none."""
        return self.a.chunks if self.a.shape == self.shape else None

    @property
    def fortran(self) -> bool:
        """Whether the large operands lie in Fortran order, so that it is quicker to have the difference in that."""
        large = [x for x in (self.a, self.b) if size(x.shape) == size(self.shape)]
        return bool(large) and len(self.shape) > 1 and all(x.fortran for x in large)

    @property
    def about(self) -> About:
        """What is said of the difference beside its elements: what A's file says, or B's if that alone has a grid."""
        own = self.b.about if grids.of_b(self.a, self.b, self.shape) else self.a.about
        found = nodata.stated(self.a.about, self.b.about)
        if self.a.about.origin and self.b.about.origin:
            own = replace(own, attributes=without_origin(own.attributes), origin="")
        return own if found == own.nodata else replace(own, nodata=found)

    def result_type(self, overflow: str) -> ElementType:
        """The difference's element type under a policy."""
        return self.element.widened if overflow == "widen" else self.element


def pair_up(
    a: TensorFile, b: TensorFile, rules: Rules, common: bool, nodata: int | float | None = None
) -> tuple[list[Pair], tuple[str, ...]]:
    """Pair the tensors of two files, by name where both files name them, and check each pair.

    Args:
        a, b: the files. rules: whose rules check and join the tensors. common: whether to skip those of one file alone.
        nodata: the value of elements without data, where a file does not state it. An operand of one element that goes
            with more is a number, which has data.

    Returns:
        the pairs, and the names that one file alone has (under ``common``).

    Raises:
        FileFormatError: names that one file alone has, without ``common``; or one tensor against several.
        SpecError: a pair that the rules refuse.
    """
    pair = functools.partial(_pair, (a.path, b.path), rules, nodata)
    if a.named and b.named:
        names = [name for name in a if name in b]
        skipped = _without_partner(a, b, names, common)
        found = ((name, _tensor(a, name, names), _tensor(b, name, names)) for name in names)
        return [pair(name, x, y, f"tensor {name!r}") for name, x, y in found], skipped
    if common:
        raise FileFormatError("--common needs two files of named tensors; leave it out for single ones")
    for one, other in ((a, b), (b, a)):
        if len(one) != 1:
            raise FileFormatError(
                f"{one.path} holds {len(one)} tensors ({quoted(one) or 'none'}) and {other.path} one; "
                f"select one by {one.path}::name"
            )
    (x,), (y,) = a.values(), b.values()
    return [pair(x.name or y.name or "difference", x, y, "")], ()


def _tensor(file: TensorFile, name: str, names: Sequence[str]) -> Tensor:
    """Look at a tensor; where it is of a type that is not taken, say how one of the others is subtracted.

    Raises:
        DTypeError: it is of such a type.
    """
    try:
        return file[name]
    except DTypeError as error:
        other = next((one for one in names if _is_taken(file, one)), None)
        if other is None:
            raise
        hint = f"or select another tensor by name, as {file.path}::{clipped(other)[1:-1]}"
        raise type(error)(error.rule, f"{error.message}, {hint}", where=error.where) from None


def _is_taken(file: TensorFile, name: str) -> bool:
    try:
        return file[name] is not None
    except MinuendError:
        return False


def _without_partner(a: TensorFile, b: TensorFile, names: Sequence[str], common: bool) -> tuple[str, ...]:
    alone = {one.path: [name for name in one if name not in other] for one, other in ((a, b), (b, a))}
    message = "; ".join(f"only {path} has {quoted(names)}" for path, names in alone.items() if names)
    if message and not common:
        hint = f"--common subtracts the {len(names)} that both have" if names else "they have none in common"
        raise FileFormatError(f"{a.path} and {b.path} do not hold the same tensors: {message}; {hint}")
    if not names:
        raise FileFormatError(f"{a.path} and {b.path} have no tensor in common: {message or 'both are empty'}")
    return tuple(itertools.chain.from_iterable(alone.values()))


def _pair(
    paths: tuple[str, str], rules: Rules, given: int | float | None, name: str, a: Tensor, b: Tensor, where: str
) -> Pair:
    where_in = where and f", in {where}"
    try:
        joined = rules.join(a, b)
        grids.check(a, b, joined, paths)
        scale_offset.check(a.about, b.about)
    except SpecError as error:
        raise error.at(where) from None
    a, b = (
        one if size(one.shape) == 1 != size(static(joined.shape or ())) else nodata.given(one, given, path, where_in)
        for one, path in zip((a, b), paths, strict=True)
    )
    return Pair(name, *grids.without_contradictions(a, b), joined, where_in)


def notes_on(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return what a report says of the operands' files, once each."""
    return tuple(dict.fromkeys(note for pair in pairs for one in (pair.a, pair.b) for note in one.about.notes))
