"""Models of any dialect: opened, walked for subtractions, and carried from one format to another."""
