"""k-means under rules: sizes, capacities, links, quotas, fixed clusters, soft or hard.

Start with `kmeans` or `ConstrainedKMeans`; `check` tells whether rules can be met and why not;
`verify` checks any labels against any rules; `certify` proves how far from optimal a result can be;
`Study` combines a result with its data and rules, for reports; `save` and `load` store it in files.
"""

import lazy_loader

# The public names are those of __init__.pyi. Each is imported when it is first asked for, so that
# `bckm --help` needs no NumPy, and only users of the estimator wait for scikit-learn.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
