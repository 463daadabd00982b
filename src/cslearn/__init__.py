"""Learn context-specific structure (CStrees and LDAGs) from categorical data."""
