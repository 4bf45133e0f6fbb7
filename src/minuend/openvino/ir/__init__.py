"""OpenVINO IR as files and in memory: XML, layers, ports, and the ``.bin``."""
