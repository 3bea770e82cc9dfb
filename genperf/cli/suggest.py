"""`genperf suggest`: a fitted model and a target → what to measure next."""

from types import SimpleNamespace

from genperf.attribution.answers import for_people
from genperf.cli.options import configuration, group_at, model_or_table, number, one_group
from genperf.cli.output import Output, tell
from genperf.search import suggest


def run(o: SimpleNamespace, out: Output) -> None:
    """Choose, and print what each candidate would do."""
    every = model_or_table(o.model)
    target = configuration(o.target, "--target", every)
    fitted = one_group(every, group_at(every, o.group, target), o.model)
    suggestion = suggest(
        fitted,
        {name: value for name, value in target.items() if name not in every.group},
        within=None if o.within is None else _share(o.within),
        **{name: getattr(o, name) for name in ("cost", "candidates", "k", "interval", "band")},
    )
    if out.written(suggestion, suggestion.chosen):
        return
    if len(suggestion.candidates):
        settings = [f.name for f in fitted.schema.factors]
        shown, same = for_people(suggestion.candidates, settings, suggestion.target)
        heading = "what one more measurement would do, the best first"
        out.frame(shown, heading + (f"; each at {same}" if same else ""))
    tell(suggestion.sentence)


def _share(text: str) -> float:
    """Read `10%` or `0.1`."""
    share = number(text.strip().removesuffix("%").strip(), "--within")
    return share / 100.0 if text.strip().endswith("%") else share
