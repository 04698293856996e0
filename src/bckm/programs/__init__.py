"""Linear and integer programs, and the only adapter of HiGHS."""
