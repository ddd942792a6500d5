"""THE FILES: what lies in the work tree, what is ignored, what differs, and how files are moved without losing any."""
