"""DxDispatch models: JSON, resources, dispatchables, commands, and one run of them."""
