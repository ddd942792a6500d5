"""FROM FILES TO THE STAGE: which files, read safely, turned into objects and stored."""
