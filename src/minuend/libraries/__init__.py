"""Arrays of other libraries: a file each, found by the module of an operand's class and imported where one is met.

A file says ``subtract(a, b, out, overflow)``: at least one of the three is an object of its library. Its result is
one too. What it computes, it computes with :func:`minuend.arrays.functions.subtract`.
"""
