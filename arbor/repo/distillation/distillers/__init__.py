"""Distillers: rules that make a short core from a longer document, built in or plugged in."""
