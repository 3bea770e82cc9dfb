"""`genperf suggest`: a fitted model and a target → what to measure next."""

from types import SimpleNamespace

from genperf.cli.declared import declared
from genperf.cli.options import model_or_table, number, one_group, target_of
from genperf.cli.output import Output, for_people, tell


@declared("suggest", "result options")
def command(o: SimpleNamespace, out: Output) -> None:
    """Choose what to measure next, so that the interval of MODEL at a target narrows most for its cost."""
    from genperf.advice import suggest

    fitted = one_group(model_or_table(o.model), o.group, o.model)
    suggestion = suggest(
        fitted,
        target_of(o.target, fitted),
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
    stripped = text.strip()
    if stripped.endswith("%"):
        return number(stripped[:-1].strip(), "--within") / 100.0
    return number(stripped, "--within")
