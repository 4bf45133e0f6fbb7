"""The operator itself: element types, shapes, policies, the array function and its exact twin."""
