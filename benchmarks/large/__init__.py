"""Large data: time, passes and bytes of steps over blocks, against peers in the same run.

A module per question: `growth` (how time grows with the rows, in memory and from disk, against the
engine in memory, plain NumPy and dask-ml), `embeddings` (many features and clusters, against faiss
and scikit-learn) and `unequal` (blobs of very unequal sizes, against scikit-learn).
"""
