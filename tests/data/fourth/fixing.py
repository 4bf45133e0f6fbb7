"""fix for Fourth: a MINUS that a target gets wrong is written by a recipe."""

import copy

from minuend.models.occurrences import occurrences
from minuend.rewriting.work import Work


def work(model, target, overflow, accept, assumed):
    """Return a model on its way to a runtime."""
    return FourthWork(model, target, overflow, accept, assumed)


class FourthWork(Work):
    """A model on its way."""

    def __init__(self, model, target, overflow, accept, assumed):
        super().__init__(target, overflow, accept, assumed)
        self.model = copy.deepcopy(model)

    def result(self):
        """The model as it is now."""
        return self.model

    def run(self):
        """Write a recipe for each MINUS that needs one."""
        for occurrence in occurrences(self.model, self.assumed):
            choice = self.choose(occurrence, writable=lambda *_: True, foldable=lambda: "no constants")
            if choice.action == "leave":
                self.left += 1
            elif choice.recipe is None:
                self.refuse(occurrence, choice)
            else:
                self.model.recipes[occurrence.live] = choice.recipe.name
                self.note(occurrence, f"is computed {choice.recipe.name}", choice.reason)
