"""Data that come in blocks of rows: one exact assignment step over them, from looks alone.

Labels are not kept: they follow from centers, prices and a short list of exceptions. So whoever
holds the blocks (`Holder`) has to answer two kinds of questions only, `survey` and `look`.
"""
