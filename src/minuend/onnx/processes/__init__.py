"""Separate processes for models of unknown origin: computing, and ONNX's own C++ library."""
