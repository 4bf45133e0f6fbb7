"""Separate processes for models that somebody else made: computing, and ONNX's own C++ library."""
