"""Models for runtimes: cases as models, and any model as a runtime can be queried with it.

A dialect whose models runtimes read has a ``probing.py`` with the names of :class:`Probing`. The cases of one model
share version, element type and constants; its inputs are named ``a0``, ``b0``, ``a1``, …, its outputs ``c0``, ``c1``,
…, and constants stand in it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, Protocol

from minuend.errors import MinuendError
from minuend.models.opening import M_contra, Model
from minuend.runtimes.cases import Case, Operation
from minuend.runtimes.values import Codes
from minuend.standards.abilities import Ability

SIDES = ("A", "B")
"""How cases call the operands."""


class Skip(MinuendError):
    """A model that is not run here; the message says why."""


class GraphProbing(Protocol):
    """What a ``probing.py`` has in addition where its models query runtimes with whole graphs.

    Attributes:
        FORM: what adapters call its models. GRAPH_TYPES: element types of the cases.
    """

    FORM: str

    @property
    def GRAPH_TYPES(self) -> tuple[str, ...]: ...  # noqa: N802

    def graph_cases(self, dtype: str) -> Iterator[Any]:
        """Yield the :class:`~minuend.runtimes.pattern_cases.GraphCase` of an element type."""

    def build(self, case: Any) -> Any:
        """Return a case's models, :class:`~minuend.runtimes.pattern_cases.Built`."""

    def many(self, dtype: str, scalars: Any, shape: tuple[int, ...]) -> Any:
        """Return a :class:`~minuend.runtimes.pattern_cases.Part`: a model that subtracts each scalar from its input."""


class Probing(Protocol[M_contra]):
    """A dialect's ``probing.py``.

    Attributes:
        FORM: what adapters call its models, such as ``"onnx"``.
    """

    FORM: str

    def case_model(self, together: Sequence[Case]) -> tuple[bytes, bytes]:
        """Return cases as one model: its bytes, and those of its weights."""

    def declared(self, model: M_contra, /) -> Iterator[tuple[str, str, tuple[Any, ...] | None]]:
        """Yield name, element type (``"bool"`` among them) and dims of every input that has to be given.

        Raises:
            Skip: an input of another kind.
        """

    def counts(self, model: M_contra, /) -> Container[str]:
        """Return the names of the inputs by which a loop counts how often it goes round, and of others at most."""

    def nbytes(self, model: M_contra, /) -> int:
        """Bytes of a model's constants."""

    def model_bytes(
        self, model: M_contra, watched: Sequence[Any], bfloat16_out: bool, /
    ) -> tuple[bytes, bytes, frozenset[int]]:
        """Return a model in one piece with more outputs, and its weights.

        Args:
            model: the model; afterwards it is as it was.
            watched: the values to be given out in addition, each as the dialect's ``fixing`` names it.
            bfloat16_out: whether outputs of bfloat16 may leave the runtime as they are; else as float32.

        Returns:
            The model, its weights, and the numbers of the outputs that leave as float32 for bfloat16.
        """


PROBING = Ability[Probing[Model]]("probing", "no runtime reads models of {}")


def is_constant(case: Case, side: str) -> bool:
    """Whether an operand, ``"A"`` or ``"B"``, is a constant of the model."""
    return case.constants in (side, "both")


def nodes(together: Sequence[Case]) -> Iterator[tuple[int, Case, Operation]]:
    """Yield number, case and operation of every node."""
    every = ((case, operation) for case in together for operation in case.operations)
    return ((i, case, operation) for i, (case, operation) in enumerate(every))


def operands(together: Sequence[Case]) -> Iterator[tuple[str, str, Codes]]:
    """Yield name, side (``"A"`` or ``"B"``) and codes of every operand, in the order of the nodes."""
    for i, _, operation in nodes(together):
        for side, codes in zip(SIDES, operation.operands, strict=False):
            yield f"{side.lower()}{i}", side, codes
