"""The operator itself: element types, shapes and their four rules, overflow policies, arrays, and the exact twin.

Two strided views and a result are the waist: every rule of broadcasting ends as views, and views go to the kernel.
It knows no standard, no file and no runtime; it may import :mod:`minuend.errors` and the kernel.
"""
