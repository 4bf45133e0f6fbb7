"""The JSON that DxDispatch takes: comments, trailing commas, what follows the first value, and every syntax error."""

import json
import math
import random
import time

import pytest

from minuend.directml.dxdispatch.json_reader import MAX_DEPTH, Document, parse
from minuend.errors import FileFormatError
from minuend.schema import format_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2, 3,],}', {"a": [1, 2, 3]}),
        ("// one\n/* two\n */ [ /**/ 1 // three\n , 2 ]", [1, 2]),
        ("[1] and whatever follows", [1]),
        ("[[1, 2,], [3]]", [[1, 2], [3]]),
        ('["a\\u00e9\\n\\"\\\\", "\\ud83d\\ude00", "// no comment"]', ['aé\n"\\', "😀", "// no comment"]),
        ("[true, false, null, {}]", [True, False, None, {}]),
        ("[-0, -0.0, 1e3, 0.1]", [0, -0.0, 1000.0, 0.1]),
        ("18446744073709551615", 2**64 - 1),
        ("[18446744073709551616]", [18446744073709551616.0]),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", -9223372036854775809.0),
        ("1" * 300, float("1" * 300)),
    ],
)
def test_what_dxdispatch_takes_is_taken(text, value):
    assert parse(text).value == value


def test_a_negative_zero_is_one_only_as_a_float():
    zero, negative = parse("[-0, -0.0]").value
    assert (math.copysign(1, zero), math.copysign(1, negative)) == (1, -1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no JSON: the end of the text; expected a value, at the top (line 1, column 1)"),
        ("{", 'this is no JSON: the end of the text; expected a key in " or }, at the top (line 1, column 2)'),
        ("{,}", "this is no JSON: ','; expected a key in \" or }, at the top (line 1, column 2)"),
        ("[,]", "this is no JSON: ','; expected a value, at [0] (line 1, column 2)"),
        ("[1 2]", "this is no JSON: '2'; expected , or ], at the top (line 1, column 4)"),
        ("[1,\n 2", "this is no JSON: the end of the text; expected , or ], at the top (line 2, column 3)"),
        ('{"a" 1}', "this is no JSON: '1'; expected : after the key 'a', at the top (line 1, column 6)"),
        ('{"a": 1 "b": 2}', "this is no JSON: '\"'; expected , or }, at the top (line 1, column 9)"),
        ("{'a': 1}", 'this is no JSON: "\'"; expected a key in " or }, at the top (line 1, column 2)'),
        ('{"a": {"b": [0, +1]}}', "this is no JSON: '+'; expected a value, at a.b[1] (line 1, column 17)"),
        ("[01]", "this is no JSON: '1'; expected , or ], at the top (line 1, column 3)"),
        ("[NaN]", "this is no JSON: 'N'; expected a value, at [0] (line 1, column 2)"),
        ("[1e999]", "this is no JSON: the number 1e999 is beyond a double's range, at [0] (line 1, column 2)"),
        ('["a', 'this is no JSON: a string that does not end; expected ", at [0] (line 1, column 2)'),
        ('["a\\', 'this is no JSON: a string that does not end; expected ", at [0] (line 1, column 2)'),
        ('["a\tb"]',
         "this is no JSON: the control character U+0009 in a string; write it as an escape, at [0] (line 1, column 4)"),
        ('["\\x41"]', "this is no JSON: an escape that JSON does not have, at [0] (line 1, column 3)"),
        ('["\\ud800"]', "this is no JSON: a string with half of a surrogate pair, at [0] (line 1, column 2)"),
        ("[1, /* 2]", "this is no JSON: a comment that does not end; expected */, at the top (line 1, column 5)"),
        ('{"a": 1, "a": 2}',
         "this is no JSON: the key 'a' comes twice in one object; keep one, at the top (line 1, column 10)"),
        ('{"x": {"a": 1, "a": 2}}',
         "this is no JSON: the key 'a' comes twice in one object; keep one, at x (line 1, column 16)"),
        ("[" * 65, f"this is no JSON: it nests deeper than 64 levels, at {'[0]' * 64} (line 1, column 65)"),
    ],
)  # fmt: skip
def test_a_syntax_error_is_told_with_its_place(text, message):
    with pytest.raises(FileFormatError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_the_deepest_nesting_that_is_read():
    value = parse("[" * MAX_DEPTH + "]" * MAX_DEPTH).value
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == []


def test_nesting_of_a_million_levels_is_refused_without_recursion():
    for opening in ("[", '{"a":'):
        with pytest.raises(FileFormatError, match="nests deeper than 64 levels"):
            parse(opening * 1_000_000)


def test_a_million_digits_are_read_as_a_double_that_is_too_large():
    with pytest.raises(FileFormatError, match="beyond a double's range"):
        parse(f'{{"a": {"9" * 1_000_000}}}')


def test_long_lists_and_comments_are_read_in_time_that_grows_with_their_length():
    start = time.process_time()
    assert len(parse(f"[{'1,' * 500_000} 2]").value) == 500_001
    assert len(parse(f"[{'1,/**/' * 50_000} 2,]").value) == 50_001
    assert parse("/**/" * 200_000 + "//\n" * 200_000 + "3").value == 3
    assert time.process_time() - start < 5


def test_places_are_found_in_lists_that_are_read_at_once():
    document = parse('{"a": [1,\n 2,\n   3]}', "f.json")
    assert document.place(("a", 2)) == "a[2] (f.json, line 3, column 4)"
    assert Document({}).place(()) == "the top"


def test_keys_that_are_no_words_are_quoted_and_long_ones_cut():
    assert format_path(("resources", "in/put", 0, "é")) == 'resources["in/put"][0]["é"]'
    assert format_path(("x" * 100, 1)) == f"{'x' * 60}…[1]"


def test_what_json_writes_is_read_back():
    rng = random.Random(7)

    def value(depth):
        kinds = [
            lambda: rng.randint(-(2**63), 2**64 - 1),
            lambda: rng.uniform(-1e9, 1e9) * 10 ** rng.randint(-300, 290),
            lambda: "".join(chr(rng.choice([34, 92, 47, 10, 65, 233, 0x1F600])) for _ in range(rng.randint(0, 6))),
            lambda: rng.choice([True, False, None]),
        ]
        if depth:
            kinds += [
                lambda: [value(depth - 1) for _ in range(rng.randint(0, 4))],
                lambda: {str(i): value(depth - 1) for i in range(rng.randint(0, 4))},
            ]
        return rng.choice(kinds)()

    for _ in range(500):
        wanted = value(4)
        text = json.dumps(wanted, indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5)
        assert parse(text).value == wanted
