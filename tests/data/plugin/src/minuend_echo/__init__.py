"""A runtime for minuend."""
