"""Arrays: operands are prepared, and the kernel computes on strided views of them.

Two strided views and a result are the waist: every rule of broadcasting ends as views, and views go to the kernel.
It knows no standard, no file and no runtime.
"""
