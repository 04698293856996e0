"""Whether two versions of the library give the same answers."""
