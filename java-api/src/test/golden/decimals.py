# SPDX-License-Identifier: Apache-2.0
"""Writes resources/golden/decimals.txt, the values that Python's float and int parse:
python3 decimals.py ../resources/golden/decimals.txt

Each line: the text, percent-encoded in UTF-8; the bits of the float64, or "error"; the int, or "error".
"""
import itertools
import platform
import struct
import sys
import urllib.parse

SIGNS = ["", "+", "-"]
MANTISSAS = [
    "0", "7", "007", "1.", ".5", "0.1", "12.75", "9007199254740993", "123456789012345678901234567890",
    "0.30000000000000004", "179769313486231570", "", ".", "..", "1.2.3", "1 2", "x",
]
EXPONENTS = ["", "e0", "E3", "e+5", "e-7", "e308", "e400", "e-400", "e99999999999", "e-99999999999", "e", "e+", "e1.5", "e1e1"]
OTHERS = [
    "inf", "-inf", "+INF", "Infinity", "-infinity", "iNfInItY", "nan", "NaN", "-NAN", "+nan", "infin", "infinit",
    "nan()", "nan(1)", "nans", "1d", "1D", "1f", "1F", "1L", "0x10", "0X1P3", "0x1p3", "-0x1p-3", "0b1", "0o7",
    "1_000", "_1", "1_", "1__0", "1,5", "1e400", "-1e400", "1.7976931348623157e308", "1.7976931348623158e308",
    "1.7976931348623159e308", "4.9e-324", "2e-324", "2.2250738585072011e-308", "1e22", "1e23", "8.5e15",
    "\u0661\u0662", "\uff11\uff12", "1\u0663", "1e\u0663", "\u00bd", "\u00b2", "\u221e", "\u2212" "1",
    "\u0131nf", "\uff4e\uff41\uff4e", "1\u00a0", "\u30001", "1\u2003", "1\u0085",
    " 1", "1 ", "\t1\n", "\r1\f", "\v1", "\x1c1", "1\x00", "\x001", "- 1", "--1", "+-1", "1-", "1+",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "0" * 400 + "1", "0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400", "9" * 400,
]


def float_bits(text):
    try:
        return struct.pack(">d", float(text)).hex()
    except ValueError:
        return "error"


def whole(text):
    try:
        return str(int(text))
    except ValueError:
        return "error"


texts = [sign + mantissa + exponent for sign, mantissa, exponent in itertools.product(SIGNS, MANTISSAS, EXPONENTS)]
with open(sys.argv[1], "w", encoding="ascii") as out:
    print(f"# program java-api/src/test/golden/decimals.py; Python {platform.python_version()}", file=out)
    for text in dict.fromkeys(texts + OTHERS):
        print(urllib.parse.quote(text, safe=""), float_bits(text), whole(text), sep="\t", file=out)
