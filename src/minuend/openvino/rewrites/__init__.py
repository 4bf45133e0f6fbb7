"""Rewriting OpenVINO IR: recipes, constants and plain broadcasting in the place of layers."""
