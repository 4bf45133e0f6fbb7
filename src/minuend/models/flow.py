"""The nodes of one scope, and who makes and reads their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from minuend.files.streaming import reading

Array = reading.Array

SHAPES = ("Identity", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Transpose", "Flatten", "Tile")
"""Operators that only move or rename values."""

DOUBLED = "Add of a value to itself"
"""What stands for a sum that only doubles a number, which rounds as the number does."""

NEUTRAL = "Add of zeros"
"""What stands for a sum or a difference with zeros, which runtimes remove."""

KEEPING = (*SHAPES, "Slice", "Split", "Concat", "Gather", "GatherElements", "GatherND", "Pad", "Where", "Max", "Min",
           "Neg", "Abs", "Relu", "Clip", "Floor", "Ceil", "Round", "DepthToSpace", "SpaceToDepth", "Trilu",
           "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin", "ThresholdedRelu", "TopK", "Resize",
           "Upsample", DOUBLED)  # fmt: skip
"""Operators that hand numbers on as they came, but for their sign or what follows the point: a number that a runtime
holds in more bits than its type has keeps some through these."""

DRAWN = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
"""Operators of which two that are equal have other results."""

DECIDED = "If of a constant"
"""What stands for an If that takes one branch alone, as the operator in whose body nodes lie."""

_IN_FLOAT32 = {"float16", "float32", "float64"}
"""Floats that some runtimes compute in float32, and leave conversions between them out."""

OF_SHAPES = ("Shape", "Size")
"""Operators that read no elements: of a known shape a runtime makes a constant, and no reader is left."""

_OF_NO_EFFECT = frozenset((
    "Div", "Gather", "Mul", "Pad", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Slice",
))  # fmt: skip
"""Operators that can leave a value as it is, if the result has its shape."""

_TO_THE_END, _FEW = (1 << 31) - 1, 4096
"""Ends of a slice from which on exporters mean all that there is; and the elements of a constant that is looked at."""

_HANDED_ON = {"Concat": (0, None), "Max": (0, None), "Min": (0, None), "Where": (1, 3)}
"""From which input to which an operator hands numbers on, where that is not the first alone."""


_NEUTRAL_PLACES = {"Add": (0, 1), "Sub": (1,), "Mul": (0, 1), "Div": (1,)}
"""Operators of two operands, and which of them is 0 or 1 where the other one stays."""


@dataclass
class Flow:
    """The nodes of one scope, under ONNX's names of operators.

    Attributes:
        steps: each node's operator, inputs and outputs, in the scope's order. constants: names of stored values.
        dtypes: element types of values by name (``"bool"`` among them), as far as they are known.
        outputs: names of what leaves the scope.
        shapes: those of values that are known. sizes: how many elements stored values have, by name.
        elements: those of a stored value, flat; ``None`` where they are not read. Queried seldom.
        within: the operators in whose bodies the scope lies, the outermost first.
        no_readers: operators that do not count as readers of what they are given.
        declared: names of values in between whose shapes the model states.
        made_later: names of values that a runtime computes when the model runs, though no input reaches them.
        attributes: what a node states besides, by its number: of equal operators, inputs and attributes runtimes
            compute one.
    """

    steps: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]]
    constants: Collection[str]
    dtypes: Mapping[str, str] = field(default_factory=dict)
    outputs: Collection[str] = ()
    shapes: Mapping[str, object] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    elements: Callable[[str], Array | None] = lambda name: None
    within: Sequence[str] = ()
    no_readers: Collection[str] = ()
    attributes: Callable[[int], Hashable] = lambda index: None
    declared: Collection[str] = ()
    made_later: Collection[str] = ()

    @cached_property
    def _made(self) -> dict[str, int]:
        return {name: i for i, step in enumerate(self.steps) for name in step[2] if name}

    @cached_property
    def operators(self) -> frozenset[str]:
        """The operators of its nodes."""
        return frozenset(step[0] for step in self.steps)

    @cached_property
    def _readers(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i, (operator, inputs, _) in enumerate(self.steps):
            for name in dict.fromkeys(inputs if operator not in self.no_readers else ()):
                found.setdefault(name, []).append(i)
        return found

    @cached_property
    def folded(self) -> frozenset[str]:
        """Names of values that no input reaches: runtimes compute them while they load the model.

        They leave the conversion of stored integers as it is, and carry it out with what reads it.
        """
        known = set(self.constants)
        waiting = {i: sum(name not in known for name in set(step[1]) if name) for i, step in enumerate(self.steps)}
        ready = [i for i, open_ in waiting.items() if not open_ and self.steps[i][1]]
        while ready:
            operator, _, outputs = self.steps[ready.pop()]
            for name in () if operator == "DequantizeLinear" else outputs:
                if name in self.made_later or name in known:  # sizes of a stored value are stored already
                    continue
                known.add(name)
                for i in self._readers.get(name, ()):
                    waiting[i] -= 1
                    if not waiting[i]:
                        ready.append(i)
        return frozenset(known)

    @cached_property
    def plain(self) -> tuple[Flow, Sequence[int]]:
        """The flow as runtimes have it: equal nodes are one, and what hands a value on or serves no output is gone.

        What reads shapes alone reads no value, and what it alone reads serves no output. Equal constants are one.

        Returns:
            The flow, with an empty step for each node that goes, and the number of each node's step in it.
        """
        names: dict[str, str] = {}
        first: dict[Hashable, list[int]] = {}
        steps: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
        places: list[int] = []
        live, joined = self._live(), False
        for i, (operator, inputs, outputs) in enumerate(self.steps):
            if i not in live:
                places.append(i)
                steps.append(("", (), ()))
                continue
            given = tuple(names.get(name, name) for name in inputs)
            whole = "" if operator != "Concat" else self._joined_again(given, outputs)
            joined = joined or bool(whole)
            handed = given[0] if self._hands_on(operator, inputs, outputs) else names.get(whole, whole)
            place = i
            if len(outputs) == 1 and inputs and operator not in DRAWN and not handed:
                key = (operator, *map(self._signature, given), self.attributes(i))
                alike = first.setdefault(key, [])
                place = next((one for one in alike if self._are_one(steps[one][1], given)), i)
                alike += [i] if place == i else []
            same = handed or (*self.steps[place][2], "")[0]
            places.append(place)
            if not outputs or same == outputs[0]:
                steps.append((operator, given, outputs))
            else:
                names[outputs[0]] = same
                steps.append(("", (), ()))
        found = replace(
            self, steps=steps, outputs=[names.get(name, name) for name in self.outputs], no_readers=OF_SHAPES
        )
        if joined:  # its parts serve no output any more
            live = found._live()
            found = replace(found, steps=[step if i in live else ("", (), ()) for i, step in enumerate(steps)])
        return found, places

    @cached_property
    def bare(self) -> Flow:
        """The plain flow without nodes that change no value: those with one 0 or 1, and moves to the same shape.

        >>> steps = [("Add", ("z", "x"), ("y",)), ("Transpose", ("y",), ("t",)), ("Exp", ("t",), ("e",))]
        >>> shapes = dict.fromkeys("xyt", (2, 3))
        >>> Flow(steps, "z", shapes=shapes, sizes={"z": 1}, elements=lambda name: np.zeros(1)).bare.steps[-1]
        ('Exp', ('x',), ('e',))
        """
        flow, _ = self.plain
        names: dict[str, str] = {}
        steps: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
        for operator, inputs, outputs in flow.steps:
            given = tuple(names.get(name, name) for name in inputs)
            same = flow._same(operator, given, outputs)
            names |= {outputs[0]: same} if same else {}
            steps.append(("", (), ()) if same else (operator, given, outputs))
        return replace(flow, steps=steps, outputs=[names.get(name, name) for name in flow.outputs])

    def _same(self, operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """The operand that a node hands on as it is, of the same shape or an unknown one; ``""`` for none."""
        kept = inputs[:1] if operator in SHAPES else ()
        for place in _NEUTRAL_PLACES.get(operator, ()) if len(inputs) == 2 else ():
            one = self.sizes.get(inputs[place]) == 1 and self._are([inputs[place]], operator in ("Mul", "Div"))
            kept = (inputs[1 - place],) if one else kept
        shape = self.shapes.get(outputs[0]) if outputs else None
        return next((name for name in kept if shape is None or shape == self.shapes.get(name, shape)), "")

    def _signature(self, name: str) -> Hashable:
        """A value's name; of a constant all that is known without reading it."""
        known = name in self.constants
        return (self.dtypes.get(name), self.shapes.get(name), self.sizes.get(name)) if known else name

    def _are_one(self, some: Sequence[str], others: Sequence[str]) -> bool:
        """Whether values of the same signatures are the same: constants that are not read are taken for equal."""
        return all(a == b or self._equal(self.elements(a), self.elements(b)) for a, b in zip(some, others, strict=True))

    @staticmethod
    def _equal(a: Array | None, b: Array | None) -> bool:
        return a is None or b is None or a.tobytes() == b.tobytes()

    def _live(self) -> Collection[int]:
        """The numbers of the steps that an output of the scope is made by, shapes aside; all, where none is known."""
        waiting = [made for name in self.outputs if (made := self.maker_of(name)) is not None]
        found = set(waiting)
        while waiting:
            operator, inputs, _ = self.steps[waiting.pop()]
            read = () if operator in OF_SHAPES else inputs
            makers = {made for name in read if (made := self.maker_of(name)) is not None}
            waiting += makers - found
            found |= makers
        return found or range(len(self.steps))

    def _hands_on(self, operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> bool:
        if not inputs or not outputs:
            return False
        if operator == "Cast":
            kinds = [self.dtypes.get(name) for name in (inputs[0], outputs[0])]
            return kinds[0] is not None and kinds[0] == kinds[1]
        return operator in ("Identity", "Dropout") or self._changes_nothing(operator, inputs, outputs)

    def _joined_again(self, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """The value whose parts, all of them and in their order, a Concat joins; ``""`` for none."""
        makers = [self.maker_of(name) for name in inputs]
        steps = [self.steps[made] for made in makers if made is not None]
        cut = {(kind, *given[:1]) for kind, given, _ in steps}
        if len(steps) < len(inputs) or len(cut) != 1 or steps[0][0] not in ("Slice", "Split"):
            return ""
        (kind, (value, *_), parts), sizes = steps[0], {self.shapes.get(name) for name in outputs}
        starts = [self._few(name) for _, given, _ in steps for name in given[1:2]]
        ends = [one.tolist() for one in starts if one is not None]
        in_order = tuple(inputs) == parts if kind == "Split" else len(ends) == len(steps) and ends == sorted(ends)
        return value if in_order and sizes | {None} == {self.shapes.get(value), None} else ""

    def _changes_nothing(self, operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> bool:
        """Whether a node leaves its operand as it is by its constants and shapes: runtimes remove it."""
        value, *others = inputs
        if operator in ("Concat", "Max", "Min", "Mean", "Split"):
            return len(inputs) == len(outputs) == 1
        if operator == "Slice" and self._are(others[:1], 0) and self._are(others[1:2], _TO_THE_END, 1 << 63):
            return all(self._are([steps], 1) for steps in others[3:] if steps)
        dims = self.shapes.get(value)
        if operator not in _OF_NO_EFFECT or dims is None or dims != self.shapes.get(outputs[0]):
            return False
        if operator in ("Slice", "Gather") and not self._is_known(value):
            return False
        if operator in ("Slice", "Pad"):
            return not others or self._are(others[:1], 0)
        if operator == "Gather":
            picked = self._few(others[0]) if others else None
            return picked is not None and picked.tolist() == list(range(picked.size))
        if operator in ("Mul", "Div"):
            return self._are(others, 1)
        return True

    def _are(self, names: Sequence[str], least: int, most: int | None = None) -> bool:
        """Whether there is a stored value of few elements, each of them a number, or from one to another."""
        found = self._few(names[0]) if names else None
        end = least if most is None else most
        return found is not None and found.dtype.kind in "iuf" and bool(((found >= least) & (found <= end)).all())

    def _few(self, name: str) -> Array | None:
        """The elements of a stored value that has few."""
        return self.elements(name) if name in self.constants and 0 < self.sizes.get(name, 0) <= _FEW else None

    def maker_of(self, name: str) -> int | None:
        """The number of the node that makes a value; ``None`` for inputs and stored values."""
        return self._made.get(name)

    def has_open_dims(self, name: str) -> bool:
        """Whether a value is known to have dims that are known only when the model runs."""
        dims = self.shapes.get(name)
        return isinstance(dims, tuple) and not all(isinstance(dim, int) for dim in dims)

    def readers_of(self, name: str) -> Sequence[int]:
        return self._readers.get(name, ())

    def uses(self, name: str) -> int:
        """How many nodes read a value, the scope's outputs counted as one."""
        return len(self.readers_of(name)) + (name in self.outputs)

    @cached_property
    def of_known_sizes(self) -> Flow | None:
        """The same nodes, where sizes of known shapes are stored values, as runtimes make them; ``None`` where no more
        values are constants then.

        >>> flow = Flow([("Shape", ("x",), ("s",)), ("Sub", ("s", "k"), ("d",))], "k", shapes={"x": (4, 8)})
        >>> "d" in flow.folded, "d" in flow.of_known_sizes.folded
        (False, True)
        """
        sizes = {
            name
            for operator, inputs, outputs in self.steps
            if operator in OF_SHAPES and inputs and self._is_known(inputs[0])
            for name in outputs
        }
        found = replace(self, constants={*self.constants, *sizes}) if sizes else self
        return None if found.folded == self.folded else found

    @cached_property
    def of_one_float(self) -> Flow | None:
        """The same nodes without conversions between floats, as runtimes have them that compute these in float32.

        Conversions of constants stay. ``None`` where there are none that go.

        >>> steps = [("Mul", ("x", "y"), ("m",)), ("Cast", ("m",), ("h",)), ("Cast", ("h",), ("w",)),
        ...          ("Sub", ("w", "z"), ("d",))]
        >>> Flow(steps, (), {"m": "float32", "h": "float16", "w": "float32"}).of_one_float.steps[-1]
        ('Sub', ('m', 'z'), ('d',))
        """
        names: dict[str, str] = {}
        steps: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
        for operator, inputs, outputs in self.steps:
            given = tuple(names.get(name, name) for name in inputs)
            kinds = {self.dtypes.get(name) for name in (*inputs[:1], *outputs)}
            goes = operator == "Cast" and inputs and kinds <= _IN_FLOAT32 and self.folded.isdisjoint(inputs)
            names |= dict.fromkeys(outputs, given[0]) if goes else {}
            steps.append(("", (), ()) if goes else (operator, given, outputs))
        if not names:
            return None
        dtypes = {name: "float32" if dtype in _IN_FLOAT32 else dtype for name, dtype in self.dtypes.items()}
        return replace(self, steps=steps, outputs=[names.get(name, name) for name in self.outputs], dtypes=dtypes)

    @cached_property
    def of_products(self) -> tuple[Flow | None, Flow | None]:
        """The same nodes with products in the place of DequantizeLinear, as runtimes may compute it.

        Those of what was quantised before stay.

        Returns:
            The flow where those without a zero point are, or with one that is 0 or not known, or that another one
            subtracts from the same value as well, but for those by powers of two, which are exact; and where all are.
            Each is ``None`` where it would be this one.

        >>> flow = Flow([("DequantizeLinear", ("q", "s"), ("d",)), ("Sub", ("d", "y"), ("e",))], ("s",))
        >>> flow.of_products[0].steps[0]
        ('Mul', ('q', 's'), ('d',))
        """
        scaled = (i for i, step in enumerate(self.steps) if step[0] == "DequantizeLinear" and len(step[1]) > 1)
        found = {i: self.steps[i][1] for i in scaled if self.maker(self.steps[i][1][0]) != "QuantizeLinear"}
        shared = Counter(self._less_zero_point(inputs) for inputs in set(found.values()))
        alone = [
            i
            for i, inputs in found.items()
            if (not self.has_zero_point(inputs) or shared[self._less_zero_point(inputs)] > 1)
            and not self.has_powers(inputs[1])
        ]
        return self._with_products(alone), self._with_products(found)

    def _less_zero_point(self, inputs: Sequence[str]) -> tuple[str, bytes]:
        """What is dequantised less a stored zero point: runtimes subtract that once for all that scale it."""
        stored = self.elements(inputs[2]) if len(inputs) > 2 else None
        return self.source(inputs[0]), b"" if stored is None else stored.tobytes()

    def has_zero_point(self, inputs: Sequence[str]) -> bool:
        """Whether a stored zero point, the third input, has an element other than 0."""
        found = self.elements(inputs[2]) if len(inputs) > 2 and inputs[2] in self.constants else None
        return found is not None and bool(found.astype(bool).any())

    def has_powers(self, name: str) -> bool:
        """Whether a stored value holds powers of two alone."""
        found = self.elements(name) if name in self.constants else None
        with np.errstate(invalid="ignore"):  # NaNs that signal
            return found is not None and bool((np.frexp(found.astype(np.float64))[0] == 0.5).all())

    def _with_products(self, places: Collection[int]) -> Flow | None:
        """The same nodes, some of them products; of their scales it is not known along which axis they lie."""
        steps = list(self.steps)
        for i in places:
            steps[i] = ("Mul", steps[i][1][:2], steps[i][2])
        scales = {steps[i][1][1] for i in places}
        shapes = {name: dims for name, dims in self.shapes.items() if name not in scales or self.sizes.get(name) == 1}
        return replace(self, steps=steps, shapes=shapes) if places else None

    def is_made_of_open(self, index: int) -> bool:
        """Whether a node's operands are made of values whose shapes are known only when the model runs."""
        return not self._made_of_open.isdisjoint(self.steps[index][1])

    @property
    def in_body(self) -> bool:
        """Whether the scope lies in a body of an If or a Loop."""
        return not {"If", "Loop"}.isdisjoint(self.within)

    @cached_property
    def _made_of_open(self) -> set[str]:
        named = {name for _, inputs, outputs in self.steps for name in (*inputs, *outputs) if name}
        found = {name for name in named - set(self.folded) if not self._is_known(name)}
        waiting = list(found)
        while waiting:
            for i in self.readers_of(waiting.pop()):
                operator, _, outputs = self.steps[i]
                new = {name for name in outputs if name and operator not in OF_SHAPES} - found
                found |= new
                waiting += new
        return found

    def _is_known(self, name: str) -> bool:
        dims = self.shapes.get(name)
        return isinstance(dims, tuple) and all(isinstance(dim, int) for dim in dims)

    def source(self, name: str, through: Collection[str] = SHAPES) -> str:
        """Follow a value back through operators that only move or rename it; return the name that it had before."""
        seen = set()
        while name in self._made and name not in seen:
            seen.add(name)
            kind, inputs, _ = self.steps[self._made[name]]
            if kind not in through or not inputs:
                break
            name = inputs[0]
        return name

    def maker(self, name: str, through: Collection[str] = SHAPES) -> str:
        """The operator that made a value, shapes aside; ``""`` for inputs and constants."""
        made = self._made.get(self.source(name, through))
        return "" if made is None else self.steps[made][0]

    def operands(self, name: str, through: Collection[str] = SHAPES) -> tuple[str, ...]:
        """The inputs of the operator that made a value."""
        made = self._made.get(self.source(name, through))
        return () if made is None else self.steps[made][1]

    def readers(self, name: str) -> list[str]:
        return [self.steps[i][0] for i in self._readers.get(name, ())]

    def result_operands(self, name: str, kind: str) -> list[str]:
        """What the operators of a kind that read a value read in addition to it."""
        steps = [self.steps[i] for i in self._readers.get(name, ()) if self.steps[i][0] == kind]
        return [other for step in steps for other in step[1] if other != name]

    def is_constant(self, name: str) -> bool:
        """Whether a value is stored in the model, moves and casts aside."""
        return self.source(name, (*SHAPES, "Cast", "DequantizeLinear")) in self.constants

    def uniform(self, name: str) -> bool:
        """Whether all elements of a stored value have the same bits."""
        found = self.elements(name)
        if found is None:
            return False
        bits = found.view(f"V{found.itemsize}")
        return bool((bits == bits[:1]).all())

    def number(self, name: str) -> float | None:
        """The number of a stored value of one element; ``None`` for any other, and for a text."""
        source = self.source(name)
        found = self.elements(source) if self.sizes.get(source) == 1 else None
        return None if found is None or isinstance(found[0], str | bytes) else float(found[0])

    @cached_property
    def added(self) -> frozenset[float]:
        """The stored numbers that nodes add, negated where they subtract them.

        >>> flow = Flow([("Add", ("x", "k"), ("y",)), ("Sub", ("y", "k"), ("z",))], ("k",), sizes={"k": 1},
        ...             elements={"k": [0.5]}.get)
        >>> sorted(flow.added)
        [-0.5, 0.5]
        """
        found = set()
        for operator, inputs, _ in self.steps:
            if operator not in ("Add", "Sub"):
                continue
            for name in inputs if operator == "Add" else inputs[1:]:
                if name in self.folded and (number := self.number(name)) is not None:
                    found.add(number if operator == "Add" else -number)
        return frozenset(found)

    def is_array(self, name: str) -> bool:
        """Whether a value is a constant of several elements."""
        return name in self.folded and self.sizes.get(self.source(name)) != 1

    def before(self, name: str, kinds: Collection[str]) -> list[str]:
        """The values that a value was before operators of some kinds, all of their inputs followed."""
        found: list[str] = []
        waiting = [name]
        while waiting and len(found) < 64:
            made = self._made.get(waiting.pop())
            if made is not None and self._kind(made) in kinds:
                for one in self._handed_on(made):
                    if one not in found:
                        found.append(one)
                        waiting.append(one)
        return found

    def _kind(self, index: int) -> str:
        operator, inputs, _ = self.steps[index]
        if operator == "Add" and len(inputs) == 2 and inputs[0] == inputs[1]:
            return DOUBLED
        return NEUTRAL if self.adds_nothing(index) else operator

    def adds_nothing(self, index: int) -> bool:
        """Whether a node adds or subtracts zeros, which runtimes remove."""
        operator, inputs, outputs = self.steps[index]
        if operator not in ("Add", "Sub") or not inputs or not outputs:  # without: of a model that is not valid
            return False
        dims = self.shapes.get(inputs[0])
        return self._are(inputs[1:], 0) and dims is not None and dims == self.shapes.get(outputs[0])

    def _handed_on(self, index: int) -> Sequence[str]:
        """The inputs whose numbers a node that only moves or picks them hands on: not those that say where to."""
        operator, inputs, _ = self.steps[index]
        first, end = _HANDED_ON.get(operator, (0, 1))
        return [name for name in inputs[first:end] if name]

    def after(self, name: str, kinds: Collection[str]) -> list[str]:
        found: list[str] = []
        waiting = [name]
        while waiting and len(found) < 64:
            one = waiting.pop()
            for i in self.readers_of(one):
                kind, outputs = self._kind(i), self.steps[i][2]
                if kind not in kinds or one not in self._handed_on(i):
                    continue
                more = [name for name in (outputs if kind == "Split" else outputs[:1]) if name and name not in found]
                found += more
                waiting += more
        return found
