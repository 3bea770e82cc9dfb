"""The forms in which people keep runs, written from a law: each is read without an option, and the law is found."""

from pathlib import Path

import pytest

from experiments.accuracy.reader import SECONDS, Form, forms
from genperf.asking.tables import ask


@pytest.mark.parametrize("form", forms(), ids=lambda form: form.name)
def test_a_form(form: Form, tmp_path: Path) -> None:
    value = ask(str(form.write(tmp_path)), form.want, at=form.at).answers[0]
    assert value.value * SECONDS.get(value.unit, 1.0) == pytest.approx(form.truth, rel=0.2)
