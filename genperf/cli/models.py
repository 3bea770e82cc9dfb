"""`genperf models`: the families, their equations, and what they need."""

from types import SimpleNamespace

import click

from genperf.cli.declared import declared
from genperf.cli.output import Output, show_json, show_rows


@declared("models")
def command(o: SimpleNamespace, out: Output) -> None:
    """List the families: equation, source, the factors needed and how columns are matched to them."""
    from genperf.models import ALIASES, MODELS
    from genperf.table import PHASES

    if out.as_json:
        show_json(
            {
                "models": [
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
                ],
                "matching": {name: list(aliases) for name, aliases in ALIASES.items()},
                "phases": {phase: [f"{word}_s" for word in words] for phase, words in PHASES.items()},
            }
        )
        return
    rows = []
    for family in MODELS.values():
        needs = ", ".join([*family.requires, *(f"[{name}]" for name in (*family.uses, *family.supposes))])
        rows.append([family.name, family.equation, needs or "any", family.purpose, family.source])
    show_rows(["model", "equation", "needs", "for", "source"], rows, plain=out.no_color)
    click.echo("\nA column is matched to a factor by its name (case does not matter), or by --map FACTOR=COLUMN:")
    for name, aliases in ALIASES.items():
        click.echo(f"  {name}: {', '.join(aliases)}")
    alone = ", ".join(family.name for family in MODELS.values() if family.phases)
    click.echo(f"\nPhases that a table measures, in seconds, are fitted each on its own column by {alone}:")
    for phase, words in PHASES.items():
        click.echo(f"  {phase}: {', '.join(f'{word}_s' for word in words)}")
