"""What bundles of captured hits contain, and how they are repeated."""
