"""The forms in which people keep runs, written from a law: each is read without an option, and the law is found."""

from pathlib import Path

import pytest

from experiments.accuracy.reader import SECONDS, Form, forms
from genperf.asking.tables import ask

#: Forms, with the relative error that an answer may have.
FORMS = [
    *((form, 0.2) for form in forms()),
    *((form, 0.15) for form in forms(Path(__file__).with_name("one_file.txt"))),
]


@pytest.mark.parametrize(("form", "error"), FORMS, ids=lambda of: of.name if isinstance(of, Form) else "")
def test_a_form(form: Form, error: float, tmp_path: Path) -> None:
    value = ask(str(form.write(tmp_path)), form.want, at=form.at).answers[0]
    assert value.value * SECONDS.get(value.unit, 1.0) == pytest.approx(form.truth, rel=error)
