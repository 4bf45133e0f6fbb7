"""Subtractions written with other operators."""
