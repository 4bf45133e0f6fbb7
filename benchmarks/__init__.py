"""How fast is ``minuend.subtract``, beside other libraries and beside what the machine can move?

``python -m benchmarks`` from a clone, after ``pip install ".[bench]"``; ``--help`` lists the options.
"""
