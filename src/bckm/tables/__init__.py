"""Read and write data files: CSV, TSV, Parquet, Excel, JSON lines, NPZ.

`read_table` returns a `Table`; `write_table` writes one, with any added columns, in the format it
came from. Packages that a format needs are imported only when it is used.
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
