"""Every text that the pages from tables and the verbs ``spec`` and ``diff`` say, for the catalogues."""

from __future__ import annotations

import itertools

from minuend.cli.pages import standards
from minuend.language import Language
from minuend.operators import OPERATORS
from minuend.standards.version import diff
from sitepages import front, staging, versions


def texts() -> list[str]:
    """The texts, in the order of the alphabet; found by saying all there is to say."""
    language = Language()
    for pages in staging.MADE:
        for _ in pages(language):
            pass
    language.tr("This page is in English only.")
    front.picture(language)
    for operator in OPERATORS:
        standards.matrix_page(versions.of_operator(operator), language)
    for op in versions.every_version():
        standards.spec_page(op, language)
        standards.diff_page(op, op, [], language)
    for home in versions.homes():
        for rows in home.operators.values():
            for old, new in itertools.permutations(rows, 2):
                standards.diff_page(old, new, diff(old, new), language)
    return sorted(language.asked - {""})
