"""fix for Fourth: a MINUS that a target gets wrong is written by a recipe."""

import copy

from minuend.rewriting.rewriter import Rewriter, Written
from minuend.rewriting.work import Work


class FourthRewriter(Rewriter):
    """A model whose MINUS statements are replaced."""

    def __init__(self, model):
        self.model = model

    def constants(self, occurrence):
        """Fourth has no constants."""
        return

    def fold(self, occurrence, result):
        """Nothing is ever folded."""
        raise NotImplementedError

    def write(self, occurrence, recipe):
        """Note the recipe of a MINUS."""
        self.model.recipes[occurrence.live] = recipe.name
        return Written(f"is computed {recipe.name}")


class FourthWork(Work):
    """A model on its way."""

    def __init__(self, model, options):
        super().__init__(options)
        self.original = model
        self.undo()

    def undo(self):
        """Begin with the model as it was read."""
        self.model = copy.deepcopy(self.original)

    def rewriter(self):
        """What replaces a MINUS."""
        return FourthRewriter(self.model)

    def key(self, occurrence):
        """What finds a MINUS."""
        return occurrence.live


work = FourthWork
