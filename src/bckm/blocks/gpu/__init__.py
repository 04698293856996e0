"""Rows that live on a GPU: they stay there, and are looked at by kernels.

`arrays` knows whose array it is and gives labels back in kind; `holder` answers looks, chunk by
chunk; `passes` is what a device does with a chunk, and `cupy_passes`, the only file that imports
CuPy, does it by the kernels of the `.cu` files, which are compiled when they are first used.
"""
