"""Why a pair of files must be refused, as surfaces know it, and what a refusal says of it.

A surface draws what it breaks, so it lists all rules that a pair breaks. Our refusal has to be of the error class of
one of them, and its message has to name that rule; what it names besides (coordinates, a type, a count) is checked too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """A rule that a pair of files breaks: the class of the error, and what its message matches."""

    # what a file holds
    DAMAGED = "FileFormatError", r"damaged|cut off|does not start as |is no (valid |zip)|\d+ bytes.*; expected |no JSON"
    TYPE = "DTypeError", r"^(a: |b: )?element type '"
    OBJECTS = "FileFormatError", r"holds Python objects, which are pickles"
    NAMELESS = "FileFormatError", r"holds raw elements of \d+ bytes without a type"
    NO_ELEMENTS = "FileFormatError", r"is a null dataset, without elements"
    ELSEWHERE = "FileFormatError", r"is (virtual|stored in external files): nothing but the file itself"
    AXES = "FileFormatError", r"holds an image of the axes '"
    TILES_OF_PLANES = "FileFormatError", r"has tiles of \d+ planes, and one plane"
    PALETTE = "FileFormatError", r"has a palette: "
    BITS = "FileFormatError", r"has pixels of \d+ bits and colour type \d"
    TRANSPARENT = "FileFormatError", r"has a colour that stands for transparency"
    BIG_ENDIAN = "FileFormatError", r"is a big-endian file of "
    NO_SHARDS = "FileFormatError", r"has no 'weight_map' of names of tensors and of their files"
    MESSAGE = "FileFormatError", r"is no protobuf message|states (no|the) |has both |has \S+ .*; expected "
    ANOTHER_PLACE = "Unsupported", r"keeps its elements in another file|is one segment of a tensor"
    # what two files hold
    NAMES = "FileFormatError", r"do not hold the same tensors: |have no tensor in common: "
    NOT_THERE = "FileFormatError", r"holds no tensor '"
    ONE_AND_SEVERAL = "FileFormatError", r"holds \d+ tensors .* and .* one; select one by "
    COMMON = "FileFormatError", r"^--common needs two files of named tensors"
    TYPES = "DTypeError", r"^[Aa] is of \S+ and [Bb] of \S+; nothing is promoted"
    SHAPES = "ShapeError", r"do not broadcast"
    # arrays of Dask
    OUT = "ShapeError", r"^out does not go with "
    OUT_MASK = "DTypeError", r"^out is no masked array, so the mask would be lost"
    OTHER_KIND = "DTypeError", r"^[ab] is a .* beside a dask\.array\.Array; nothing is converted"
    BLOCKS = "DTypeError", r"^[ab] is a dask\.array\.Array of .* blocks, which are no arrays"
    OWN_UFUNC = "DTypeError", r"^[ab] is a \S+, whose own __array_ufunc__ carries more than its numbers"
    NO_ARRAY = "DTypeError", r"^[ab] is a .*; expected a (NumPy array|dask\.array\.Array)"
    FLOAT = "DTypeError", r"^the Python float \S+ has no place in "
    INT = "ScalarRangeError", r"^the Python int \S+ does not fit "
    NUMBER = "DTypeError", r"^the Python "
    UNKNOWN_LENGTHS = "ShapeError", r"^the lengths along axis -?\d+ are not known"
    BLOCK_LENGTHS = "ShapeError", r"^blocks of a and b have .* elements along axis "
    # where elements lie
    AXIS_NAMES = "FileFormatError", r"^axis \d+ is '.*; nothing is transposed"
    NO_COORDINATES = "FileFormatError", r"has no coordinates for '"
    COORDINATES = "FileFormatError", r"^A and B have different coordinates '"
    BOUNDS = "FileFormatError", r"^A and B have different bounds of the coordinates '"
    COORDINATE_MEANING = (
        "FileFormatError",
        r"^A and B have coordinates '.*' of different (units|cal|scale_|add_)",
    )
    SYSTEM = "FileFormatError", r"^A and B have different coordinate systems: "
    TRANSFORM = "FileFormatError", r"^A and B have different transforms: "
    HEIGHTS = "FileFormatError", r"^A and B have different scales and offsets of heights: "
    POINTS = "FileFormatError", r"^A and B have different ground control points: "
    CAMERA = "FileFormatError", r"^A and B have different rational polynomial cameras: "
    NO_PLACE = "FileFormatError", r"has no georeference and .* has one"
    # what elements mean
    SCALE = "FileFormatError", r"^A and B are scaled in different ways: "
    UNITS = "FileFormatError", r"^A and B have different units: "
    ORIGIN = "FileFormatError", r"^A and B are counted from different times: "
    CONVENTION = "FileFormatError", r"^A and B are not read alike: "
    NODATA_GIVEN = "DTypeError", r"^--nodata \S+ does not fit "
    NODATA_STATED = "DTypeError", r"^the nodata value \S+ does not fit "
    TWO_NODATA = "FileFormatError", r"states the nodata value \S+, and --nodata says "
    # what is computed and written
    OVERFLOW = "OverflowFound", r"^\d+ of \d+ differences do not fit "
    NO_WORD = "DTypeError", r"ha(s|ve) no word for |^PNG holds uint8 and uint16, not "
    SEVERAL_FOR_ONE = "FileFormatError", r"holds one tensor and there are \d+ "
    BANDS_NODATA = "FileFormatError", r"has one nodata value for all bands"
    NO_IMAGE = "FileFormatError", r"holds bands of rows and columns; |holds \(rows, columns\) or "
    MEMBER_NAME = "FileFormatError", r"NumPy takes '.*' for the member of "

    def __call__(self, *named: object) -> Why:
        """Return the rule with what a message names of it."""
        return Why(self, tuple(str(one) for one in named))


@dataclass(frozen=True)
class Why:
    """A rule that a pair breaks, and texts that the message has to hold."""

    reason: Reason
    named: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.word} {self.named or ''}".strip()

    @property
    def word(self) -> str:
        """The rule in a word or two, by which outcomes are counted."""
        return self.reason.name.lower().replace("_", " ")

    def fits(self, error: Exception) -> bool:
        """Whether a refusal is for this."""
        kind, words = self.reason.value
        text = str(error)
        return type(error).__name__ == kind and bool(re.search(words, text)) and all(one in text for one in self.named)


def unique(found: Iterable[Why]) -> tuple[Why, ...]:
    """Return reasons, each of them once, in their order."""
    return tuple(dict.fromkeys(found))
