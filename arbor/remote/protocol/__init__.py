"""THE WIRE: bytes, messages and their bounds, the same over every transport."""
