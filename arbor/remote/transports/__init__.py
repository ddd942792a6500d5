"""TRANSPORTS: the ways to reach a KB, one module or a few for each: path, ssh, http, object store, bundle."""
