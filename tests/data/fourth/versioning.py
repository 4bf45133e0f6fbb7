"""Fourth's models from one edition to another."""

from dataclasses import replace

from minuend.fourth.versions import DIALECT


def convert(model, version=None):
    """Move a model to an edition."""
    edition = DIALECT.resolve(version).version
    return replace(model, edition=edition), [f"edition {model.edition} became {edition}"], []
