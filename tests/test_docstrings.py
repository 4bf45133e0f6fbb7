"""Across modules: the examples in docstrings are true, and every public name has a docstring."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import minuend as mn

MODULES = sorted(m.name for m in pkgutil.walk_packages(mn.__path__, "minuend.") if not m.name.endswith("__main__"))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    with np.printoptions():
        failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_the_fast_functions_examples_are_among_them():
    finder = doctest.DocTestFinder()
    found = {test.name: test for test in finder.find(importlib.import_module("minuend.arrays.functions"))}
    assert found["minuend.arrays.functions.subtract"].examples


@pytest.mark.parametrize("name", mn.__all__)
def test_every_public_name_says_what_it_is(name):
    assert inspect.getdoc(getattr(mn, name))
