"""A fleet: failures are reported, the rest is kept, and what is there is not fitted again."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import genperf as gp
from genperf import fleet
from genperf.cli.main import cli
from genperf.engine import Engine, Lost
from genperf.fitting.model import ExpressionModel
from genperf.fleet import fit_fleet
from genperf.result import FitResult, GroupedResult, dump_model, load_model, save_model

N = np.array([1.0, 2, 4, 8, 16])


def frame(names: str = "abcdef") -> pd.DataFrame:
    return pd.concat(
        [pd.DataFrame({"net": name, "workers": N, "s": k + 8 / N}) for k, name in enumerate(names, 1)],
        ignore_index=True,
    )


def table(names: str = "abcdef") -> gp.Table:
    return gp.read_table(frame(names), time="s", extrinsic="workers", group="net")


def fitted(tables: Sequence[gp.Table]) -> list[FitResult | str]:
    out: list[FitResult | str] = []
    for part in tables:
        result = gp.fit(part, "amdahl", draws=2)
        out += result.results.values()
    return out


def run_where_c_kills(work: Any, tasks: Iterable[list[gp.Table]], engine: Engine) -> Iterator[tuple[int, Any]]:
    """Do the tasks in this process; one with the group c is lost."""
    for number, tables in enumerate(tasks):
        lost = any("c" in part.frame["net"].tolist() for part in tables)
        yield number, Lost("the worker process died") if lost else work(tables)


def test_a_lost_group_is_reported_and_the_others_of_its_task_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "run", run_where_c_kills)
    # The third task has two groups, c and d.
    result = fit_fleet(table("abcd"), fitted, Engine(), together=4)
    assert list(result.results) == [(name,) for name in "abd"]
    assert "worker process died" in result.failures[("c",)]


@pytest.mark.filterwarnings("ignore:.*still being processed by the workers have been cancelled")
@pytest.mark.parametrize("processes", [1, 2])
def test_a_stop_keeps_the_groups_that_are_done(processes: int) -> None:
    kept: list[GroupedResult] = []

    def stop(done: int, total: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_fleet(table(), fitted, Engine(workers=processes), together=100, progress=stop, checkpoint=kept.append)
    assert 2 <= len(kept[-1].results) < 6


def test_groups_are_cut_as_they_are_needed() -> None:
    """Beside the results only what is under way is held, so memory does not grow with the number of series."""
    cut, waiting = 0, []

    def count(tables: Sequence[gp.Table]) -> list[FitResult | str]:
        waiting.append(cut)
        return fitted(tables)

    class Watched:
        def __init__(self, inner: gp.Table) -> None:
            self.inner, self.group, self.group_count = inner, inner.group, inner.group_count

        def groups(self) -> Any:
            nonlocal cut
            for key, part in self.inner.groups():
                cut += 1
                yield key, part

    fit_fleet(Watched(table()), count, Engine(), together=2)  # type: ignore[arg-type]
    assert waiting == [1, 2, 4, 6]


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which groups are fitted anew."""
    fitted_now: list[str] = []
    plain = ExpressionModel.fit

    def noted(model: ExpressionModel, tables: Sequence[gp.Table], seed: int) -> Any:
        fitted_now.extend(part.frame["net"].iloc[0] for part in tables)
        return plain(model, tables, seed)

    monkeypatch.setattr(ExpressionModel, "fit", noted)
    return fitted_now


def test_what_is_there_is_kept_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gp.fit(table(), "amdahl", draws=2)
    before = gp.fit(table("abc"), "amdahl", draws=2)
    fitted_now = counting(monkeypatch)
    again = gp.fit(table(), "amdahl", draws=2, resume=before)
    assert fitted_now == ["d", "e", "f"]
    assert dump_model(again) == dump_model(whole)


@pytest.mark.parametrize("changed", [{"model": "usl"}, {"seed": 1}, {"draws": 3}, {"lam": 0.5}, {"loss": "squared"}])
def test_what_was_asked_otherwise_is_fitted_anew(changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"model": "amdahl", "draws": 2}
    before = gp.fit(table("ab"), **options)  # type: ignore[arg-type]
    fitted_now = counting(monkeypatch)
    gp.fit(table("ab"), **{**options, **changed}, resume=before)  # type: ignore[arg-type]
    assert fitted_now == ["a", "b"]


def test_a_group_whose_rows_changed_is_fitted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gp.fit(table("ab"), "amdahl", draws=2)
    changed = frame("ab")
    changed.loc[7, "s"] *= 2
    fitted_now = counting(monkeypatch)
    new = gp.read_table(changed, time="s", extrinsic="workers", group="net")
    gp.fit(new, "amdahl", draws=2, resume=before)
    assert fitted_now == ["b"]


def test_a_single_model_is_resumed_too() -> None:
    one = gp.read_table(frame("a"), time="s", extrinsic="workers")
    before = gp.fit(one, "amdahl", draws=2)
    assert gp.fit(one, "amdahl", draws=2, resume=before) is before
    assert gp.fit(one, "amdahl", draws=3, resume=before) is not before


def test_checkpoints_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[GroupedResult] = []
    fit_fleet(table(), fitted, Engine(), checkpoint=held.append)
    assert held == []
    monkeypatch.setattr(fleet._Done, "interval_s", 0.0)
    monkeypatch.setattr(fleet._Done, "pause_ratio", 0.0)
    fit_fleet(table(), fitted, Engine(), checkpoint=held.append)
    assert [len(saved) for saved in held] == [1, 2, 3, 4, 5, 6]


ASKED = ["--time", "s", "--extrinsic", "workers", "--group", "net", "--model", "amdahl"]


def test_resume_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("runs.csv", index=False)
    fit = ["fit", "runs.csv", *ASKED, "-o"]
    assert CliRunner().invoke(cli, [*fit, "whole.json"]).exit_code == 0
    whole = load_model("whole.json")
    save_model(GroupedResult(("net",), dict(list(whole.results.items())[:2])), "part.json")
    fitted_now = counting(monkeypatch)
    assert CliRunner().invoke(cli, [*fit, "part.json", "--resume"]).exit_code == 0
    assert fitted_now == list("cdef")
    assert Path("part.json").read_bytes() == Path("whole.json").read_bytes()
    assert CliRunner().invoke(cli, [*fit, "new.json", "--resume"]).exit_code == 0
    assert Path("new.json").read_bytes() == Path("whole.json").read_bytes()
    refused = CliRunner().invoke(cli, ["fit", "runs.csv", *ASKED, "--resume"])
    assert refused.exit_code == 2
    assert "--resume" in refused.output


def test_an_interrupted_run_hands_on_what_it_has() -> None:
    held: list[GroupedResult] = []

    def stopped(tables: Sequence[gp.Table]) -> list[FitResult | str]:
        if tables[0].frame["net"].iloc[0] == "d":
            raise KeyboardInterrupt
        return fitted(tables)

    with pytest.raises(KeyboardInterrupt):
        fit_fleet(table(), stopped, Engine(), checkpoint=held.append)
    (result,) = held
    assert list(result.results) == [("a",), ("b",), ("c",)]
