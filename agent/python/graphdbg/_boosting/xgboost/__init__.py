"""The adapter for XGBoost 2 and newer."""
