"""Running the console blocks of a page: commands after ``$``, then what they print."""

import contextlib
import doctest
import io
import re
import shlex

from bckm.cli import main

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)


class Shell:
    """A shell that knows `bckm`, `cat`, `head -n` and `echo $?`, pipes between them, and no more.

    Parameters
    ----------
    folder : Path
        Where files are; it must be the current folder.
    """

    def __init__(self, folder):
        self.folder = folder
        self.code = 0

    def __call__(self, line):
        """Run a line; what it prints, and its complaints if there is nothing else."""
        data = b""
        for command in line.split("|"):
            data, complaints = self._run(shlex.split(command), data)
        return data.decode() or "".join(f"{one}\n" for one in complaints)

    def _run(self, words, data):
        if words[0] == "bckm":
            return self._bckm(words[1:], data)
        if words[0] == "cat":
            return (self.folder / words[1]).read_bytes(), []
        if words[:2] == ["head", "-n"]:
            text = (self.folder / words[3]).read_bytes() if len(words) > 3 else data
            return b"".join(text.splitlines(keepends=True)[: int(words[2])]), []
        assert words == ["echo", "$?"], words
        return f"{self.code}\n".encode(), []

    def _bckm(self, words, data):
        streams = [io.TextIOWrapper(io.BytesIO(one), "utf-8") for one in (data, b"", b"")]
        out, errors = streams[1:]
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(errors))
            stack.enter_context(_stdin(streams[0]))
            try:
                main(words)
            except SystemExit as stopped:
                self.code = stopped.code
        for one in (out, errors):
            one.flush()
        said = errors.buffer.getvalue().decode().splitlines()
        first = next((i for i, one in enumerate(said) if one.startswith("Error")), len(said))
        return out.buffer.getvalue(), said[first:]


@contextlib.contextmanager
def _stdin(stream):
    import sys

    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


def run_commands(path, folder):
    """Run the commands of a page and compare what they print; ``...`` stands for anything.

    A file that `cat` shows and that is not there is made of what is shown. Returns how many
    commands were run.
    """
    shell, number = Shell(folder), 0
    for block in BLOCK.findall(path.read_text("utf-8").replace("\\\n", "")):
        for line, expected in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.M):
            shown = re.fullmatch(r"cat (\S+)", line)
            if shown and not (folder / shown[1]).exists():
                (folder / shown[1]).write_text(expected, "utf-8")
            got = re.sub("[\xa0\u202f]", " ", shell(line))  # blanks that do not break
            number += 1
            same = doctest.OutputChecker().check_output(
                expected, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same, f"$ {line}\nexpected:\n{expected}\ngot:\n{got}"
    return number
