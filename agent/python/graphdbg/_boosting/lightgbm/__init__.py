"""The adapter for LightGBM 3.3 and newer."""
