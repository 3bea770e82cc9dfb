"""`genperf models`: the families, their equations, and what they need."""

from genperf.cli import decorators as shared
from genperf.cli.output import Output, show_rows, tell, tell_all


@shared.command("models")
@shared.shown(shared.JSON, shared.NO_COLOR)
def models(out: Output) -> None:
    """List the families: equation, source, the factors needed and how columns are matched to them."""
    from genperf.models import ALIASES, MODELS
    from genperf.vocabulary.names import PHASES

    phases = {phase: [f"{word}_s" for word in words] for phase, words in PHASES.items()}
    families = [
        {
            "name": f.name,
            "equation": f.equation,
            "source": f.source,
            "purpose": f.purpose,
            "needs": list(f.requires),
            "uses": [*f.uses, *f.supposes],
            "phases": list(f.phases),
        }
        for f in MODELS.values()
    ]
    matching = {name: list(aliases) for name, aliases in ALIASES.items()}
    if out.written({"models": families, "matching": matching, "phases": phases}):
        return
    needs = {f.name: ", ".join([*f.requires, *(f"[{n}]" for n in (*f.uses, *f.supposes))]) for f in MODELS.values()}
    rows = [[f.name, f.equation, needs[f.name] or "any", f.purpose, f.source] for f in MODELS.values()]
    show_rows(["model", "equation", "needs", "for", "source"], rows, plain=out.no_color)
    tell("\nA column is matched to a factor by its name (case does not matter), or by --map FACTOR=COLUMN:")
    tell_all(f"  {name}: {', '.join(aliases)}" for name, aliases in matching.items())
    alone = ", ".join(family.name for family in MODELS.values() if family.phases)
    tell(f"\nPhases that a table measures, in seconds, are fitted each on its own column by {alone}:")
    tell_all(f"  {phase}: {', '.join(columns)}" for phase, columns in phases.items())
