"""GIT: a knowledge base inside a git repository, and the hooks of both."""
