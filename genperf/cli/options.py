"""What options of several commands mean: pairs, numbers, configurations, and the table or model they are about."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from genperf.cli.output import progress, tell
from genperf.cli.writing import names_files
from genperf.errors import GenperfError, ModelError, listed
from genperf.formula.amounts import amount, without_thousands
from genperf.panel.legend import SCALE
from genperf.panel.machine import PARTS
from genperf.panel.question import SEVERAL, Requested
from genperf.result import FitResult, GroupedResult, is_model, load_model
from genperf.table.cells import Source
from genperf.table.content import head_of
from genperf.vocabulary import any_of, late, words_of
from genperf.vocabulary.headers import header_of
from genperf.vocabulary.names import is_relative
from genperf.words.numbers import join_values

if TYPE_CHECKING:
    from genperf.panel import Table
    from genperf.panel.read import Recognised

T = TypeVar("T")
Fitted: TypeAlias = FitResult | GroupedResult
#: Options among the words of a question without which its configuration means the same.
OF_A_JOB = (
    *("samples", "tokens", "deadline", "budget", "price", "peak"),
    *("why", "normal", "cost", "next", "layout", "efficiency", "best", "each", "highest_value", "lowest_value"),
)
#: The options one of which names the measured column, and so describes a table.
MEASURED = ("time", "throughput", "quantity")
#: The options that give the columns of a table roles.
ROLES = (*MEASURED, "extrinsic", "intrinsic", "categorical")

_COST = late(any_of("requested.cost"))
#: What a question of one word may be about.
ONE_WORD = ("normal", "why", "cost", "next", "layout", "knee", "best")
#: A run without a file: the count and the throughput.
RUN = re.compile(r"\d+:\d+(\.\d+)?([eE][+-]?\d+)?")
#: What no word around a table holds that asks for a configuration (`64 GPUs`, `4*8`): a pattern, or the name of a file.
_PATH = re.compile(r"\\|\.(?:[a-z]\w{0,4}|parquet)(?!\S)|\*$|\*\D", re.IGNORECASE)
#: A name that a text gives twice, `tp=8 pp=1 vs tp=4 pp=2`: two configurations. What stands in brackets is a value.
NAMED_TWICE = re.compile(r"(?<!\S)([\w-]+)=[^()]*\s\1=")


def names_of(fitted: Fitted) -> list[str]:
    """Return the names that options may give values: of the factors, the groups, and the columns of the table."""
    panel = fitted.first.panel
    return [*(f.name for f in panel.factors), *panel.group, *(panel.legend.columns if panel.legend else ())]


def pairs(texts: Sequence[str], option: str, names: Iterable[str] = ()) -> dict[str, str]:
    """Read repeated `name=value` options, each name once; `names` may hold an equals sign themselves."""
    out: dict[str, str] = {}
    twice, names = set(), [*names]
    any_name = "|".join(map(re.escape, names))
    # No comma inside brackets, behind which one closes before another opens.
    before_a_name = re.compile(rf",\s*(?=(?:{any_name})=)(?![^()]*\))")
    # The words of a question are read by the columns of the table.
    is_parted = (any_name and text.count("=") > 1 and not text.startswith(f"{SCALE}=") for text in texts)
    parted = (before_a_name.split(text) if of else [text] for text, of in zip(texts, is_parted, strict=True))
    for text in chain.from_iterable(parted):
        # The name ends at the equals sign behind the longest name that is known, or else at the first one.
        begun = [name for name in names if text.startswith(f"{name}=")]
        name_text = max(begun, key=len, default=text.partition("=")[0])
        name, value = name_text.strip(), without_thousands(text[len(name_text) + 1 :].strip())
        if not name or not value:
            raise click.BadParameter(f"'{text}' is not NAME=VALUE", param_hint=option)
        twice |= {name} & out.keys()
        out[name] = value
    if twice:
        several = option in ("--at", "--over", "--versus")
        hint = "list values with commas: workers=32,64" if several else "give each once"
        raise GenperfError(f"{option} names {', '.join(sorted(twice))} twice", hint=hint)
    return out


def number(text: str, option: str) -> float:
    """Read a finite number from an option."""
    try:
        value = float(text)
    except ValueError:
        raise click.BadParameter(f"'{text}' is not a number", param_hint=option) from None
    if not math.isfinite(value):
        raise click.BadParameter(f"'{text}' is not finite", param_hint=option)
    return value


def amount_of(text: str | None, option: str) -> float | None:
    """Read a number as people write it (`300B`, `30d`) from an option."""
    if text is None:
        return None
    value = amount(text)
    if value is None or not math.isfinite(value):
        raise click.BadParameter(f"'{text}' is not a number; try 300, 300B, 30d or 10min", param_hint=option)
    return value


def split_words(texts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files or runs among the words of a command, and the words around them, which are values of `--at`."""
    places = [n for n, text in enumerate(texts) if names_files(text) or RUN.fullmatch(text)]
    if not places:
        from genperf.table.opened import runs_and_question, stated_runs

        texts = [part for text in texts for part in (runs_and_question(text) if " " in text else (text,)) if part]
        places = [n for n, text in enumerate(texts) if " " in text and stated_runs(text) is not None]
    start, end = (places[0], places[-1] + 1) if places else (0, 0)
    around = (*texts[:start], *texts[end:])
    words = " ".join(text for text in around if "=" not in text.strip("="))
    in_folder = any("/" in word.rstrip("/") and Path(word).parent.is_dir() for word in words.split())
    # A word alone is a question where it names a quantity or a topic, `memory`, `bottleneck?`, and else may be a file.
    word = words.rstrip("?").lower()
    is_topic = any(word in words_of(f"headers.{topic}") for topic in ONE_WORD) or _COST.fullmatch(word)
    is_quantity = header_of(words).kind or is_relative(words)
    is_question = bool(re.search(r"\d|\S\s+\S", " ".join(around)) or is_quantity or is_topic)
    if not places or in_folder or not is_question:
        return tuple(texts), ()
    paths, files = (word for word in words.split() if _PATH.search(word)), [*filter(os.path.isfile, texts[start:end])]
    # A word that looks like a file and stands in the head of one is a cell of its table.
    if any(not any(word.encode() in head_of(file) for file in files) for word in paths):
        return tuple(texts), ()
    if NAMED_TWICE.search(" ".join(around)):
        # Which value goes with which is in the order of the words.
        return tuple(texts[start:end]), (" ".join(around),)
    return tuple(texts[start:end]), (*(text for text in around if "=" in text.strip("=")), *filter(None, [words]))


def with_scale(texts: Sequence[str], names: Collection[str] | None = None) -> list[str]:
    """Return `name=value` options, and all other texts as one more, a question in words: `SCALE=64 gpus | batch 32`.

    `names` are the columns, of which one may have words as its value: `host=node 3`; None where they are not known.
    """
    settings, words, columns = list[str](), list[str](), names or ()
    for text in (text.rstrip(",;") for text in texts):
        name, _, value = text.partition("=")
        # `gpus=64 batch 32` and `gpus=64 at 2/h` say more than one value.
        says_more = re.search(r"\s\d[\d.,]*\s+[^\W\d]|^\d+\s+[^\W\d]{2}.*\s\d", value) is not None
        is_setting = (name in columns and not says_more) or re.fullmatch(r"\S+=(?:\(.*\))?", text) is not None
        pieces = re.split(r",?\s(?=[\w-]+=)", text)
        # `p=3 t=2 time` has more than one setting and words, and no cell `3 t=2 time`.
        has_several = bool(pieces[1:]) and all(piece.split("=")[0] in columns for piece in pieces)
        # Where the columns are not known, a factor alone has no value, and a name may have blanks.
        may_be_name = names is None and re.search(r"^\D.*=|^\s*[^\W\d]*\s*$", text) is not None
        if NAMED_TWICE.search(text):
            words.append(text)
        elif all(re.fullmatch(r"[\w-]+=\S+", piece) for piece in pieces):
            settings += pieces
        elif ("=" in text and is_setting and not has_several) or may_be_name:
            settings.append(text)
        else:
            words.append(text)
    return [*settings, *([f"{SCALE}={' | '.join(words)}"] if words else [])]


def configuration(
    texts: Sequence[str],
    option: str,
    fitted: Fitted,
    beside: Callable[[FitResult, Mapping[str, str]], Mapping[str, str]] | None = None,
    heeded: Collection[str] = (),
    about: dict[str, Any] | None = None,
) -> tuple[Fitted, dict[str, str]]:
    """Return the configuration of `name=value` options, by the columns of a model, and the model for it.

    Its predictions are blind where a name stands in no column. `beside` picks the options that are no factors; those
    among the words are set in `about`, the options of the command, or `heeded` where it does them by itself.
    """
    assigned = pairs(with_scale(texts), option, names_of(fitted))
    further = beside(fitted.first, assigned) if beside is not None else {}
    others = {name: text for name, text in assigned.items() if name not in further}
    requested = fitted.requested(others)
    _take_options(requested, heeded, {} if about is None else about, assigned.get(SCALE, ""))
    if texts and not requested.at and not further and option in ("--or", "--versus"):
        # Nothing is left of a change.
        raise GenperfError(requested.notes[0], hint="a change of what the runs show")
    for note in requested.notes:
        tell(f"note: {note}", err=True)
    return fitted.blind_by(requested.notes), {**requested.at, **further}


def _take_options(requested: Requested, heeded: Collection[str], about: dict[str, Any], words: str) -> None:
    """Set options among the words of a question in those of the command, and note those that it lacks."""
    context = click.get_current_context()
    in_words = {name: text for name, text in requested.options.items() if name in about}
    typed = [name for name in in_words if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    typed = [name for name in typed if about[name] is not None]
    if typed:
        what = f"{listed([f'--{name}' for name in typed])} in words stand beside options"
        raise GenperfError(what, hint="give all of it in words, or none")
    about |= in_words
    unheeded = {n: t for n, t in requested.options.items() if n not in ("requested", *heeded, *in_words)}
    texts = listed([f"--{name} {text}" if text else name for name, text in unheeded.items()])
    if unheeded and not ((requested.at or in_words) and {*unheeded} <= {*OF_A_JOB}):
        hint = f"genperf ask takes these words; {context.info_name} takes a configuration, such as --at gpus=64"
        raise GenperfError(f"'{words}' is no setting of a run: it says {texts}", hint=hint)
    if unheeded:
        tell(f"note: {context.info_name} does not answer {texts}; genperf ask does", err=True)


def with_lists(read: Callable[..., T], texts: Sequence[str]) -> tuple[T, tuple[str, ...]]:
    """Return what is read of a question, and its texts: where its words have several values of names, with these."""
    from genperf.panel.phrases import SeveralValuesError

    try:
        return read(*texts), tuple(texts)
    except SeveralValuesError as error:
        if not error.lists:
            raise
        lists = tuple(f"{name}={','.join(values)}" for name, values in error.lists.items())
    return read(*lists), lists


def single(at: dict[str, str]) -> dict[str, str]:
    """Return a configuration of a command that answers for one, each of whose values has to be one."""
    words = ((name, word) for name, text in at.items() for word in (text.split() if name == SCALE else [text]))
    for name, text in words:
        if SEVERAL.fullmatch(without_thousands(text)):
            command = click.get_current_context().info_name
            what = f"{command} answers for one configuration, and {name}={text} is several"
            hint = f"one value, such as {name}={re.split('[,:]', text)[0]}; ask, predict and optimize take several"
            raise GenperfError(what, hint=hint)
    return at


def values_at(
    texts: Sequence[str],
    option: str,
    fitted: Fitted,
    heeded: Collection[str] = (),
    about: dict[str, Any] | None = None,
) -> tuple[Fitted, dict[str, list[str]]]:
    """Read as `configuration` does, into lists of values; ranges of numeric factors are written out."""
    model = fitted
    (fitted, texts_by_name), _ = with_lists(
        lambda *question: configuration(question, option, model, heeded=heeded, about=about), texts
    )
    values, panel = {}, fitted.first.panel
    levels_of_groups = dict(zip(fitted.group, zip(*fitted.results, strict=True), strict=True))
    factors = {factor.name: factor for factor in panel.factors}
    for name, text in texts_by_name.items():
        factor = factors.get(panel.column(name))
        # A level may hold a comma.
        levels = levels_of_groups.get(name) or (factor.levels if factor is not None else ())
        values[name] = [text] if text in levels else [value.strip() for value in text.split(",")]
        if ":" in text and (name in PARTS or (factor is not None and factor.numeric)):
            from genperf.search.space import read_grid

            ranges = [read_grid({name: v})[name] if ":" in v else [v] for v in values[name]]
            values[name] = [str(value) for values_of_range in ranges for value in values_of_range]
    return fitted, values


def capacities(texts: Sequence[str], fitted: Fitted) -> dict[str, float]:
    """Read `--capacity memory=80` options: in the unit of the quantity, which may follow the number."""
    result, most = fitted.first, {}
    for name, text in pairs(texts, "--capacity").items():
        plain = text.removesuffix(result.further.get(name, result).schema.target.unit)
        most[name] = number(plain.strip() or text, "--capacity")
    return most


def alternatives(**values: Any) -> list[Any]:
    """Return options of which one may be given: those of the settings file give way to one that is typed."""
    source_of = click.get_current_context().get_parameter_source
    typed = {name for name in values if source_of(name) is ParameterSource.COMMANDLINE}
    stored = {name for name in values if typed and source_of(name) is ParameterSource.DEFAULT_MAP}
    return [(() if isinstance(value, tuple) else None) if name in stored else value for name, value in values.items()]


def recognised_table(source: str | Source, options: dict[str, Any], *question: str) -> Recognised:
    """Open the table that the options describe; the columns of a question, `NAME=VALUE`, are settings."""
    from genperf.panel.options import OPTIONS
    from genperf.panel.read import recognised

    # What the settings file says of another measured column than the command line names does not count.
    names, source_of = (*MEASURED, "work", "unit"), click.get_current_context().get_parameter_source
    typed = {name for name in names if source_of(name) is ParameterSource.COMMANDLINE}
    stored = {name for name in names if source_of(name) is ParameterSource.DEFAULT_MAP}
    other_column = not typed.isdisjoint(MEASURED) and not stored.isdisjoint(MEASURED)
    roles = {k: options[k] for k in OPTIONS if k in options and not (other_column and k in stored)}
    roles["let"] = pairs(roles.get("let", ()), "--let") or None
    if len(conditions := roles.pop("where", ())) > 0:
        roles["where"] = conditions[0] if len(conditions) == 1 else " and ".join(f"({c})" for c in conditions)
    at = {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in with_scale(question))}
    tokens = click.get_current_context().params.get("tokens") is not None
    return recognised(source, roles, pairs(options.get("mapping") or (), "--map"), at, tokens)


def read(source: str | Recognised, options: dict[str, Any], *question: str) -> Table:
    """Read the table that the options describe; print the roles that are recognised."""
    table = recognised_table(source, options, *question) if isinstance(source, str) else source
    if not table.given.whole and not click.get_current_context().params.get("quiet"):
        tell(table.line, err=True)
    return table.table()


def model_or_table(path: str, roles: Mapping[str, Any], *question: str, limited: Collection[str] = ()) -> Fitted:
    """Load a model, or fit `auto` to a table that the options describe, with measured columns that are `limited`."""
    if is_model(path):
        refuse_roles(path)
        return load_model(path)
    from genperf.fitting import fit
    from genperf.search.compare import of_variants
    from genperf.table.shape import VARIANT

    options = {**roles, "skip_bad_rows": True}
    if limited:
        recognised = recognised_table(path, options, *question)
        beside = [n for n in recognised.reading.quantities[1:] if n in limited and n.isidentifier()]
        options["also"] = (*(options.get("also") or ()), *beside)
    table = read(path, options, *question)
    is_quiet = bool(click.get_current_context().params.get("quiet"))
    with progress(is_quiet, "groups" if table.group else "") as done:
        fitted = fit(table, progress=done)
    target = fitted.first.schema.target
    header = target.throughput or target.column
    is_named = any(roles.get(name) for name in MEASURED) or any(header in text for text in question)
    if is_named or not of_variants(fitted.first):
        return fitted
    # Columns of one unit, `PS (s/step)` beside `Ring (s/step)`: the first alone is none of both.
    with progress(is_quiet, "groups") as done:
        return fit(read(path, {**options, "group": VARIANT}, *question), progress=done)


def refuse_roles(model: str) -> None:
    """Refuse a command line that gives the columns of a model roles: those of its table were kept."""
    source_of = click.get_current_context().get_parameter_source
    named = next((name for name in ROLES if source_of(name) is ParameterSource.COMMANDLINE), None)
    if named is not None:
        hint = "leave it out, or name the table in its place"
        raise GenperfError(f"--{named} gives a column of a table its role, and this is a model", where=model, hint=hint)


def one_group(
    fitted: Fitted,
    group: str | None,
    model: str,
    at: Mapping[str, Any] | None = None,
    option: str = "--group",
    unlike: Mapping[str, str] | None = None,
) -> tuple[tuple[str, ...], FitResult]:
    """Return a model with its key: of the given group, the only one, or that which `ask` takes of those `at`."""
    if not fitted.group:
        if group is not None:
            raise ModelError("holds one model and no groups", where=model, hint=f"leave {option} out")
        return (), fitted.first
    if group is None and at is not None:
        from genperf.search.problem import models_of, most_measured_group

        groups, _ = models_of(fitted, at)
        levels = {name: level for name, level in (unlike or {}).items() if name in fitted.group}
        others = [pair for pair in groups if levels and not levels.items() <= pair[0].items()]
        chosen, result = most_measured_group(others or groups)
        if len(groups) > 1:
            text = f"of {join_values(chosen)}, one of {len(groups)} groups; --group names another"
            tell(text, err=True)
        return tuple(chosen.values()), result
    if group is None:
        examples = "; ".join(",".join(key) for key in list(fitted.results)[:3])
        raise ModelError("holds several groups", where=model, hint=f"{option} VALUES, for example {examples}")
    # A value may hold a comma itself.
    by_text = {"".join(",".join(key).split()): key for key in fitted.results}
    key = by_text.get("".join(group.split())) or tuple(value.strip() for value in group.split(","))
    return key, fitted[key]  # type: ignore[index]
