"""Hostile strings: those of the tests, and what terminals, spreadsheets and parsers obey."""

from __future__ import annotations

from tests.support.hostile import HOSTILE

_ESC = [
    "[2J",
    "[31m",
    "[?1049h",
    "[6n",
    "[c",
    "[5n",
    "[21t",
    "[20t",
    "[?25l",
    "[999;999H",
    "]0;pwned\x07",
    "]2;pwned\x07",
    "]52;c;cHduZWQ=\x07",
    "]8;;http://127.0.0.1:9\x07",
    "]4;0;?\x07",
    "]10;?\x07",
    "]1337;File=:AA==\x07",
    "]777;notify;a;b\x07",
    "]9;4;1;50\x07",
    "P$qm\\",
    "P+q544e\\",
    "_Ga=q;AA==\\",
    "^pwned\\",
    "Xpwned\\",
    "c",
    "N",
    "O",
    "Z",
    "#8",
    "(0",
    ")B",
    "7",
    "8",
    "=",
    ">",
    "D",
    "M",
    "E",
    "H",
    "[!p",
    "[8;1;1t",
    "[?1000h",
    "[4i",
    "[0q",
]
TERMINAL = [
    *(f"\x1b{one}" for one in _ESC),
    *(f"a{chr(c)}b" for c in (*range(0x80, 0xA0), 8, 11, 12, 13, 14, 15, 127)),
    "\x9b31mred",
    "\x9d0;pwned\x9c",
    "\x90qpwned\x9c",
    "safe\rpwned",
    "safe\x08\x08\x08\x08pwned",
    "\x1b\x1b[31m",
    "\x1b\n[31m",
]
_SIGNS = ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
FORMULAS = [
    f"{before}{sign}{formula}"
    for before in ("", " ", "\t", "\ufeff", "\u200b", "'", '"', "\xa0")
    for sign, formula in zip(
        _SIGNS, ["1+1", "A1", "cmd|'/C calc'!A0", "SUM(1)", "1", "2", "3", "4"], strict=True
    )
]
OTHERS = [
    *('a"b', "a'b", "a,b", "a;b", "a|b", "a\tb", "a\nb", "a\r\nb", '"', "'", '""', "'''", '"""'),
    *("[[size]]", "x = 1\n[fit]\nseed = 2", '"\n[[size]]\nmax = 0\n#', "#", "\\", "\\u0041", "\\n"),
    *(
        "../../etc/passwd",
        "~/x",
        "$HOME",
        "$(id)",
        "`id`",
        "; id",
        "| id",
        "%PATH%",
        "-rf",
        "--help",
    ),
    *(
        "{",
        "}",
        "{{",
        "%",
        "%s",
        "{x!r}",
        "null",
        "true",
        "NaN",
        "inf",
        "-0",
        "1e999",
        "0x10",
        "007",
    ),
    *(
        "x" * 10_000,
        "\U0001f468\u200d\U0001f469" * 50,
        "\u0301" * 40,
        "\u202e" * 20,
        "\u2028",
        "\u2029",
    ),
]
STRINGS = tuple(dict.fromkeys([*HOSTILE, *TERMINAL, *FORMULAS, *OTHERS]))
