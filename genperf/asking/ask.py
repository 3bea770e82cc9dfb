"""`ask`: the facts about one configuration, each gathered once, in the order in which they rest on each other."""

from collections.abc import Mapping
from typing import Any

from genperf.asking.answer import Answer
from genperf.asking.plan import planned
from genperf.asking.published import beside_published
from genperf.asking.question import Question, expectation, work_of
from genperf.attribution.comparison import single
from genperf.attribution.derived import curve_of, growth_of, reported_of
from genperf.attribution.terms import limit_of
from genperf.errors import attempted
from genperf.panel.configurations import left_open
from genperf.result import FitResult, answering
from genperf.search.suggest import suggest

ONE = "ask answers for one configuration"


def ask(result: FitResult, at: Mapping[str, Any], question: Question | None = None) -> Answer:
    """Answer what to expect of one configuration, how sure that is, whether it pays, what limits it, what to run next.

    Parameters
    ----------
    at : mapping
        The configuration; factors left out are those of a measured run (`typical_run`), the count of workers that of
        the plan. For a level that was not measured the measured ones stand (`genperf.result.answering`).

    Raises
    ------
    GenperfError
        For several configurations.

    Examples
    --------
    >>> import genperf as gp
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"gpus": [1, 2, 4, 8], "s": [0.10, 0.11, 0.12, 0.13]})
    >>> result = gp.fit(gp.read_table(runs, time="s", extrinsic="gpus"), model="a + b*log2(gpus)")
    >>> print(ask(result, {"gpus": 64}, Question(work="32*gpus")).sentences["expect"])
    Expect 12,800 samples/s at gpus=64: 40 x that of 1 gpu, an efficiency of 62 %; a step takes 0.16 s.
    """
    question = question or Question()
    interval, training = question.interval, question.training
    result = answering(result, at)
    work = work_of(result, question)
    plan = None
    if question.plan is not None:
        # The count of workers follows from the plan, all else from the question or from a measured run.
        start = single(result.query(at), ONE)
        plan = planned(result, start, question.plan, work, question.price, question.per, interval)
        at = {**plan.at, **at}
    query = result.query(at)
    target = single(query, ONE)
    expected, predicted = expectation(result, query, interval)
    trained = reported_of(result, query, expected, training, question.price)
    curve = curve_of(result, target, work, interval)
    growth = growth_of(curve, float(target[curve.along]), work, question.price, question.per)
    unmeasured = {name: level for name, levels in result.schema.substituted.items() for level in levels}
    turns = curve.points[curve.points["what"] == ("slower" if growth.whole else "throughput")]
    return Answer(
        at=target,
        given=at.keys(),
        taken=left_open(result.panel, target, at),
        expected=expected,
        growth=growth,
        turn=None if turns.empty else {str(name): value for name, value in turns.iloc[0].items()},
        upto=curve.upto,
        limit=limit_of(result, query.columns, interval),
        beside=beside_published(result, curve, growth.target.count, work, question),
        advice=None if unmeasured else attempted(suggest, result, at),
        unmeasured=unmeasured,
        can_fail=result.feasibility is not None,
        nodes_known=result.panel.node("nodes") is not None,
        training=training,
        trained=trained,
        further={name: one.schema.target for name, one in result.further.items()},
        predicted={name: cells[0] for name, cells in predicted.items()},
        plan=plan,
    )
