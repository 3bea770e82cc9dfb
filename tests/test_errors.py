import pickle

import pytest

from genperf.errors import FormulaError, GenperfError, TableError, suggest


@pytest.mark.parametrize(
    "error",
    [
        GenperfError("no rows", hint="measure", where="a.csv"),
        TableError("no rows"),
        FormulaError("'.' is not allowed", text="a.b", column=1, width=1, hint="use _"),
    ],
)
def test_an_error_comes_back_whole_from_a_worker(error: GenperfError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)


def test_caret_stands_under_a_place_far_to_the_right() -> None:
    text = "a + " * 50 + "b.c"
    head, shown, caret, *_ = str(FormulaError("no", text=text, column=200, width=3)).splitlines()
    assert head == "no"
    assert shown[caret.index("^") :].startswith("b.c")


@pytest.mark.parametrize(("word", "answer"), [("wrkers", "did you mean 'workers'?"), ("zzz", "one of workers, batch")])
def test_suggest(word: str, answer: str) -> None:
    assert suggest(word, ["workers", "batch"]) == answer
