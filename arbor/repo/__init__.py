"""History: configuration, the repository, stage and work tree, revisions, log, diff, merge, tiers and verify."""
