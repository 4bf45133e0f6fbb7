"""OpenVINO models that are run, layer after layer."""
