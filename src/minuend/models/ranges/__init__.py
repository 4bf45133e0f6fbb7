"""Which values a tensor can hold: intervals, and the rules that operators give them."""
