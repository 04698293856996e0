"""Data files in and out: CSV, TSV, Parquet, Excel, JSON lines, NPZ.

`read_table` gives a `Table`, `write_table` writes one, with columns added to it, as the kind of
file it came from. What a kind of file needs is imported when such a file is met.
"""

from bckm.tables._files import Written, read_table, write_table
from bckm.tables._table import FORMATS, Table
from bckm.tables.errors import NoFileError, OptionError, TableError, UnknownColumnError

__all__ = [
    "FORMATS",
    "NoFileError",
    "OptionError",
    "Table",
    "TableError",
    "UnknownColumnError",
    "Written",
    "read_table",
    "write_table",
]
