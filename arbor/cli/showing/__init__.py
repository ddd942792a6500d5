"""SHOWING: how the answers of commands look, to people and to programs, where it takes more than a line."""
