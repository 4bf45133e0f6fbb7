"""What everything else is made of: element types, shapes and their four rules, overflow policies."""
