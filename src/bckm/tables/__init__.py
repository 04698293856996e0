"""Read and write data files: CSV, TSV, Parquet, Excel, JSON lines, NPZ.

`read_table` returns a `Table`; `write_table` writes one, with any added columns, in the format it
came from. Packages that a format needs are imported only when it is used.
"""

from bckm.tables._files import Written, names_table, read_table, write_table
from bckm.tables._look import kind_of, look_over
from bckm.tables._mark import mark_problems
from bckm.tables._problems import Problem, ProblemsError, Remedy
from bckm.tables._reading import Reading
from bckm.tables._table import FORMATS, Table
from bckm.tables.errors import NoFileError, OptionError, TableError, UnknownColumnError

__all__ = [
    "FORMATS",
    "NoFileError",
    "OptionError",
    "Problem",
    "ProblemsError",
    "Reading",
    "Remedy",
    "Table",
    "TableError",
    "UnknownColumnError",
    "Written",
    "kind_of",
    "look_over",
    "mark_problems",
    "names_table",
    "read_table",
    "write_table",
]
