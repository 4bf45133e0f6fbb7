"""Fourth's models: a line for each statement.

FOURTH 2
INPUT x TINY 2 3
MINUS z x y
OUTPUT z
"""

import os
from dataclasses import dataclass, field

from minuend.fourth.versions import DIALECT

from minuend.arrays.functions import compute
from minuend.errors import FileFormatError
from minuend.models.opening import Outputs
from minuend.standards.node import Node, TensorType
from minuend.standards.validation import infer_node, validate


@dataclass
class Model:
    """An edition, inputs, differences in order (result → operands), and outputs."""

    edition: int = 2
    inputs: dict = field(default_factory=dict)
    differences: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    recipes: dict = field(default_factory=dict)
    path: str | None = None

    dialect = DIALECT

    @property
    def handout(self):
        """What conversions and fixes hand out: the model itself."""
        return self

    def sources(self):
        """The files that the model names."""
        return [self.path] if self.path else []

    def copies(self, original, path):
        """The files to copy where this is the model that was read."""
        return {}

    def output_names(self):
        """The outputs' names, in order."""
        return list(self.outputs)

    def types(self):
        """The type of every value."""
        found = dict(self.inputs)
        for z, node in self._nodes(found):
            found[z] = infer_node(node)
        return found

    def _nodes(self, types):
        op = DIALECT.resolve(self.edition)
        for z, (x, y) in self.differences.items():
            yield z, Node(op=op, operands=(types[x], types[y]), name=z, where=f"MINUS {z}")

    def subtractions(self):
        """Every MINUS."""
        return (node for _, node in self._nodes(self.types()))

    def execute(self, inputs, *, output_dir=None, max_bytes=None):
        """Run it; Fourth's models write no files."""
        return Outputs(self.run(inputs, max_bytes=max_bytes))

    def run(self, inputs, *, max_bytes=None):
        """Compute every difference by the edition's rules."""
        values = dict(inputs)
        for z, node in self._nodes(self.types()):
            x, y = (values[name] for name in self.differences[z])
            values[z] = compute(node.op.computes, node.a.element, validate(node), x, y, None)
        return {name: values[name] for name in self.outputs}

    def text(self):
        """The model as text."""
        lines = [f"FOURTH {self.edition}"]
        for name, type_ in self.inputs.items():
            lines.append(" ".join(["INPUT", name, DIALECT.spell(type_.dtype), *map(str, type_.shape)]))
        for z, pair in self.differences.items():
            lines.append(" ".join(["MINUS", z, *pair]))
        return "\n".join([*lines, *(f"OUTPUT {name}" for name in self.outputs), ""])

    def save(self, path, inputs=()):
        """Write the model."""
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(self.text())


def read(source):
    """Read a model from a path, bytes or text."""
    path = None
    if isinstance(source, bytes):
        source = source.decode()
    if "\n" not in str(source):
        path = os.fspath(source)
        with open(path, encoding="utf-8") as stream:
            source = stream.read()
    model = Model(path=path)
    for line in source.splitlines():
        word, *rest = line.split()
        if word == "FOURTH":
            model.edition = int(rest[0])
        elif word == "INPUT":
            model.inputs[rest[0]] = TensorType(rest[1], tuple(map(int, rest[2:])))
        elif word == "MINUS":
            model.differences[rest[0]] = tuple(rest[1:])
        elif word == "OUTPUT":
            model.outputs.append(rest[0])
        else:
            raise FileFormatError(f"{word} is no statement of Fourth")
    return model
