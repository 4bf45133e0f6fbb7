"""File formats, a module each, and what several of them share: coordinates, places, missing values."""
