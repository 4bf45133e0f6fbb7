"""What every standard has: versions of the operator, their rules, a node, and its validation."""
