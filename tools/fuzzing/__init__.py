"""Fuzzing of everything that reads what somebody else made; ``tools/fuzz.py`` runs it.

``targets`` is the table of readers, ``watch`` says what a failure is, ``mutation`` harms inputs and keeps those that
lead somewhere new, ``running`` runs a target in a process of its own, ``guided`` does so under atheris.
"""
