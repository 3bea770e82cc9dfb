"""The field's names for the columns of a table."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from genperf.vocabulary import any_of, late, section, words_of
from genperf.vocabulary.headers import DEVICE_WORDS, NODE_WORDS, STEP_WORDS, bare, header_of, in_blanks, letter_of

#: Names that tables of any program use, those of a transformer, and all: the canonical name first. Families use it.
GENERAL, TRANSFORMER = section("factors"), section("transformer")
ALIASES = GENERAL | TRANSFORMER
#: The ways to split a transformer, which multiply to its devices. Experts are split over the data-parallel ways.
WAYS = ("data_parallel", "tensor_parallel", "pipeline_parallel", "context_parallel")
#: The levels of a cluster, finest first: each holds several of the one before.
LEVELS = ("workers", "nodes")
#: The phases of a step of synchronous SGD, and what a column of each is called before its unit.
PHASES = section("phases")
#: Where one of these is known, the batch of a pass is not that of a worker.
_BESIDE_A_PASS = ("global_batch", "micro_batches", *WAYS[1:])
#: A batch of all whose name has such a word counts tokens: `tokens_per_batch`, `Global batch size (tokens)`.
IN_TOKENS = late("tokens?", re.IGNORECASE)
_RELATIVE = late(rf"(^|.*_){any_of('columns.relative', 'columns.efficiency')}(_.*)?")
_EFFICIENCY = late(rf"(^|.*_){any_of('columns.efficiency')}(_.*)?")
#: The speed-up or the efficiency as a function of a count: `S(p)`, `E(n)`.
_OF_A_COUNT = late(r"[SE] ?\([A-Za-z]\)")
#: What a title or a cell says of how runs were scaled: "Strong scaling, ResNet-50".
TITLE_OF_SCALED = late(any_of("cells.kind_in_a_title"))


#: Before a setting in the table of a tracker.
_TRACKED = late(rf"^{any_of('headers.tracked')}_")


@lru_cache(maxsize=10_000)
def plain_name(column: str) -> str:
    """Return a column's name as the lists of names spell it: an option of a launcher, a key of a settings file.

    >>> plain_name("GPUs"), plain_name("--tensor-model-parallel-size"), plain_name("model.micro_batch_size")
    ('gpus', 'tensor_model_parallel_size', 'micro_batch_size')
    >>> plain_name("zero_optimization.stage"), plain_name("fp16.enabled")
    ('zero_stage', 'fp16.enabled')
    >>> plain_name("#-GPUs"), plain_name("peak memory (GB)"), plain_name("batch size (per GPU)")
    ('num_gpus', 'peak_memory', 'batch_size_per_gpu')
    """
    words = re.sub(r"[()\[\]]", " ", bare(column)).strip().lower().removeprefix("--")
    name = re.sub(r"[\s-]+", "_", words)
    name = re.sub(r"^zero_optimization\.", "zero_", name)
    # Optuna writes `params_gpus`.
    setting = _TRACKED.sub("", name)
    name = setting if setting != name and any(setting in names for names in ALIASES.values()) else name
    head, _, last = name.rpartition(".")
    is_part = head and any(last in names for names in TRANSFORMER.values())
    return last if is_part else name


def column_of(canonical: str, columns: Iterable[str]) -> str | None:
    """Return which column has one of the field's names for a factor; None where none has.

    If no column has such a name as it is, one may have it behind `num_` or before `_count`, in other words for a
    batch and for what it is of (`bs_per_gpu`, `batchSize`), or among words for a run and its cluster. Without a column
    of its own the batch of a worker is that of a pass, `mbs`, unless a column shows that a worker makes several passes,
    by their number, a batch of all or another split than data-parallel; beside a number of passes `batch_per_gpu` is
    that of one.

    >>> column_of("workers", ["num_gpus", "batch"]), column_of("workers", ["num_workers", "GPUs"])
    ('num_gpus', 'GPUs')
    >>> column_of("nodes", ["node_count"]), column_of("workers", ["GPU-Anzahl"]), column_of("nodes", ["colour"])
    ('node_count', 'GPU-Anzahl', None)
    >>> column_of("batch", ["gpus", "mbs"]), column_of("batch", ["gpus", "mbs", "grad_accumulation"])
    ('mbs', None)
    >>> column_of("micro_batch", ["gpus", "batch_per_gpu"]), column_of("micro_batch", ["batch_per_gpu", "grad_accum"])
    (None, 'batch_per_gpu')
    """
    return _column_among(canonical, tuple(columns))


@lru_cache(maxsize=4096)
def _column_among(canonical: str, listed: tuple[str, ...]) -> str | None:
    """Return what `column_of` does, from a cache; all columns are tried by one kind of spelling before the next."""
    for spelled in _SPELLINGS:
        by_name = {name: column for column in reversed(listed) for name in spelled(column)}
        column = next((by_name[alias] for alias in ALIASES[canonical] if alias in by_name), None)
        if column is not None:
            # Tokens follow from a device's batch, and from that of a pass where nothing tells the tokens of a sample.
            others = tuple(name for name in listed if name != column) if IN_TOKENS.search(column) else ()
            batch, of_a_pass, sequence = (_column_among(name, others) for name in ("batch", "micro_batch", "sequence"))
            return column if batch in (None, of_a_pass) and (of_a_pass is None or sequence) else None
    if canonical == "batch" and not any(_column_among(name, listed) for name in _BESIDE_A_PASS):
        return _column_among("micro_batch", listed)
    # Where a device accumulates passes, its batch is that of one: `per_device_batch` beside `grad_accum`.
    if canonical == "micro_batch" and _column_among("micro_batches", listed):
        return _column_among("batch", listed)
    return None


@lru_cache(maxsize=10_000)
def canonical_of(column: str) -> str | None:
    """Return the field's name for a column's name; None for another name."""
    names = {name for spelled in _SPELLINGS for name in spelled(column)}
    return next((canonical for canonical, aliases in ALIASES.items() if not names.isdisjoint(aliases)), None)


def is_batch_of_a_node(column: str) -> bool:
    """Tell whether a name is that of a worker's batch but for its word for a node: `batch per host`."""
    words = plain_name(column).split("_")
    of_a_worker = "_".join("worker" if word in NODE_WORDS else word for word in words)
    return not NODE_WORDS.isdisjoint(words) and canonical_of(of_a_worker) == "batch"


def canonical_of_singular(column: str) -> str | None:
    """Return the field's name for a singular, `workers` for `gpu`; else None, as for `rank`, a number."""
    singular = plain_name(column)
    plural = f"{singular}es" if singular.endswith(("ss", "x")) else f"{singular}s"
    # Below `V100 (img/s)` stands what one does.
    is_other = singular in words_of("headers.number_of_one") or (bare(column) != column and header_of(column).kind)
    return None if is_other else canonical_of(plural)


def meant_by(column: str) -> str | None:
    """Return the field's name for a column's name, or for its plural; None for another name."""
    return canonical_of(column) or canonical_of_singular(column)


#: A column that counts what loads a machine: users, connections.
LOAD = late(rf"(^|.*[\W_]){any_of('log.counted')}([\W_].*|$)", re.IGNORECASE)
#: What a question calls a load: `concurrent requests`, `users`.
LOAD_IN_WORDS = late(rf"{any_of('log.counted')}|(?:num[_ ])?concurrent(?:[ _][a-z]+)*", re.IGNORECASE)
#: What parts the words of a name; Latin letters beside Chinese ones are two words.
_BETWEEN_WORDS = late(r"[\W_]+|(?<=[a-z])(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])(?=[a-z])")


#: Where a capital begins a word of a name.
_CAPITAL = late(r"(?<=[a-z])(?=[A-Z][a-z])|(?<=[A-Z])(?=[A-Z][a-z]{3})|(?<=[a-z]{3})(?=bw(?![a-z]))")
#: Words that are written in short, `ckpt`, in full.
IN_FULL = {short: full for full, listed_words in section("short").items() for short in listed_words}


def words_in(name: str) -> set[str]:
    """Return the words of a name: `step_ms.p50` is `step`, `ms` and `p50`; `tp规模` is `tp` and `规模`."""
    return {*_BETWEEN_WORDS.split(name.lower())} - {""}


def words_in_full(name: str) -> set[str]:
    """Return the words of a name, each in full: `p50` and `checkpoint` of `median_ckpt`, `memory` of `MaxMem`."""
    return {IN_FULL.get(word, word) for word in words_in(_CAPITAL.sub(" ", name))}


_IN_BRACKETS = late(r"\([^()]*\)")


def level_with(text: str, levels: Collection[str]) -> str:
    """Return the only level that has all words of a text, or no other outside brackets: `h100` is `NVIDIA H100`."""
    words = words_in(text)
    having = [level for level in levels if words and words <= words_in(level)]
    if len(having) > 1:
        # `FSDP` is `FSDP (2 GPUs)` beside `FSDP+AC (2 GPUs)`.
        having = [level for level in having if words == words_in(_IN_BRACKETS.sub(" ", level))]
    return having[0] if len(having) == 1 else ""


def named_in_part(name: str, columns: Collection[str], further: bool = False) -> str | None:
    """Return the only column that has all words of a name: `step` is that of `step_time`; None where several have them.

    If the name may have `further` words, a column whose words are all in it is another.
    """
    words = {text: words_in(plain_name(text)) - {"num", "of", "number"} for text in (name, *columns)}
    wanted = words[name]
    if not wanted:
        return None
    alike = [c for c in columns if words[c] and (wanted <= words[c] or (further and words[c] <= wanted))]
    return alike[0] if len(alike) == 1 else None


#: What a name says beside what is counted, in several languages.
_SAYS_A_COUNT = late(
    rf"^(total_)?{any_of('headers.number_of')}_|^alloc(ated)?_|_{any_of('headers.number_behind')}(?=$|_per_)"
    rf"|^total_(?!.*batch)|(?<!batch)(?<!size)_{any_of('headers.in_all')}$"
    rf"|^n(?=({any_of('headers.device', 'headers.node')}|task|v?cpu)s?$)"
)


def counted_noun(column: str) -> str:
    """Return a plain name without the words that say that something is counted: `num_nodos` is `nodos`."""
    return _SAYS_A_COUNT.sub("", plain_name(column))


@lru_cache(maxsize=10_000)
def _as_a_count(column: str) -> frozenset[str]:
    """Return the names without the words that say that something is counted, in the singular and the plural."""
    plain = counted_noun(column)
    return frozenset() if plain == plain_name(column) else frozenset({plain, f"{plain}s"})


_OF_A_RUN = late(any_of("headers.of_a_run"))
#: `H100s`, and of `# V100` what is counted.
_KINDS_OF_DEVICES = late(rf"{any_of('cells.kinds_of_devices')}(s?)")
#: What a batch holds so many of, as it is spelled.
_SAMPLES = words_of("headers.of_a_batch") + tuple(
    word for called in words_of("headers.of_a_batch") for word in words_of(f"counted.{called}")
)
#: As `_in_other_words` spells it, with `batch_size` for a batch.
_TOKENS_OF_A_STEP = late(
    rf"({any_of('headers.of_all')}_)?(batch_size|gbs)_(size_)?(in_)?(num_)?tokens?"
    rf"|(num_|total_)?tokens_{any_of('headers.per')}_(global_)?(batch_size|{any_of('headers.step')})"
)
#: How many steps were done: `num_steps`, `iterations`.
STEPS = late(rf"((num|n|total|max|train|training|number_of|timed|measured)_)*({any_of('headers.step')})(s|es)")
#: How many epochs a run had.
EPOCHS = late(rf"((num|n|total|max|train|number_of)_)*({any_of('headers.epoch')})(s|n)")
#: How much a run did in all: `total_tokens`, `images_processed`.
WORK_OF_A_RUN = late(
    rf"((num|n|total|train|training|number_of|consumed|processed)_)*({'|'.join((*_SAMPLES, 'tokens'))})"
    r"(_(processed|consumed|seen|trained|total|in_total))?"
)
#: How many samples an epoch goes through: `samples_per_epoch`, `dataset_size`, `num_train_images`.
SAMPLES_OF_AN_EPOCH = late(
    rf"((num|n|train|training|number_of)_)*({'|'.join(_SAMPLES)})(_per_epoch|_in_dataset)?|data_?set_size|data_size"
)
#: What a run did so many of: a job of other work takes so much longer.
WORK_OF_RUNS = (STEPS, EPOCHS, WORK_OF_A_RUN)
_ONE_PER_OTHER = late(rf"(\w+?)_{any_of('headers.per')}_(\w+)")


@lru_cache(maxsize=10_000)
def _in_other_words(column: str) -> frozenset[str]:
    """Return the name with one word for a batch and for a worker, with capitals as new words, and what it counts."""
    column = in_blanks(column) if "." in column else column
    # `GPUs/node` is `gpus_per_node`, and `NumGPUs` is `num_gpus`.
    inside = r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z]{2})|(?<=[A-Z])(?=[A-Z][a-z]{2})"
    apart = plain_name(re.sub(inside, "_", re.sub(r"(?<=\w)\s*/\s*(?=\w+$)", " per ", column)))
    batch = r"(mini_?)?(bs|bsz|batch_?size|batch)|((taille_d[eu]|tama[nñ]o_del?)_)?(lote|stapel|lot(?=_pa?e?r_))"
    name = re.sub(rf"(?<![a-z])({batch})(?![a-z])", "batch_size", apart)
    name = re.sub(rf"(?<![a-z]){any_of('headers.per')}_(?:{any_of('headers.device')}|dp)(?![a-z])", "per_worker", name)
    # `Compute nodes in training job`: what is left without words for a run has to be the name of a part of a machine.
    counted = counted_noun(apart)
    noun = "_".join(word for word in counted.split("_") if _OF_A_RUN.fullmatch(word) is None)
    machines = {alias for canonical in (*LEVELS, "servers", "threads") for alias in ALIASES[canonical]}
    of_a_run = {noun, f"{noun}s"} & machines if noun != counted else set()
    # `Ranks per host`: the first has to be a name of workers, the second one of nodes.
    per = _ONE_PER_OTHER.fullmatch(counted_noun(apart))
    pairs = zip(LEVELS, per.groups() if per is not None else (), strict=False)
    are_levels = [not {noun, f"{noun}s"}.isdisjoint(ALIASES[level]) for level, noun in pairs]
    # A server of devices is a node; one of workers may be that of their parameters.
    if per is not None and are_levels[0] and per[1] not in ("worker", "workers") and per[2] == "server":
        are_levels = [True]
    of_a_node = {"devices_per_node"} if are_levels and all(are_levels) else set()
    of_devices = _KINDS_OF_DEVICES.fullmatch(counted)
    if of_devices is not None and (of_devices[1] or counted != apart):
        of_a_run = {"gpus"}
    return frozenset({apart, name, *of_a_run, *of_a_node, *_batch_in_other_words(name)}) | _as_a_count(apart)


def _batch_in_other_words(name: str) -> set[str]:
    """Return the usual name of a batch by whose it is, `batch_size (total)`, or by its samples, `images_per_worker`."""
    if _TOKENS_OF_A_STEP.fullmatch(name):
        return {"batch_tokens"}
    scope = {*name.split("_")} - {"batch", "size"}
    if "batch_size" in name and len(scope) == 1:
        of_all, of_one = not scope.isdisjoint(words_of("headers.of_all")), not scope.isdisjoint(DEVICE_WORDS)
        return {"global_batch_size"} if of_all else {"batch_size_per_worker"} if of_one else set()
    held = _ONE_PER_OTHER.fullmatch(name.removesuffix("_size"))
    if held is None or held[1] not in _SAMPLES or held[2] not in STEP_WORDS | {"worker"}:
        return set()
    return {"samples_per_worker" if held[2] == "worker" else "samples_per_step"}


#: A name as it is comes first, then the others.
_SPELLINGS = (lambda column: frozenset({plain_name(column)}), _as_a_count, _in_other_words)


def command_about(words: str) -> str | None:
    """Return the command that words of a question are about; None where they are about none.

    >>> command_about("best number of gpus"), command_about("where is the knee"), command_about("64 gpus")
    ('optimize', 'explain --knee', None)
    """
    topics = (of for of in section("commands") if re.search(rf"(?<!\S){any_of(f'commands.{of}')}(?!\S)", words.lower()))
    return next(topics, None)


def noun_of(column: str) -> str:
    """Return what a column counts, in the plural, as it stands in a sentence; `p` counts workers.

    >>> noun_of("num_gpus"), noun_of("# GPUs"), noun_of("world_size"), noun_of("node_count"), noun_of("cores")
    ('gpus', 'GPUs', 'workers', 'nodes', 'cores')
    >>> noun_of("NTasks"), noun_of("config.num_gpus"), noun_of("concurrent_users"), noun_of("p"), noun_of("pipeline")
    ('Tasks', 'gpus', 'concurrent users', 'workers', 'pipeline')
    >>> noun_of("n_envs"), noun_of("work_ms")
    ('envs', 'work_ms')
    >>> noun_of("Anzahl GPUs"), noun_of("SLURM_NTASKS"), noun_of("WORLD_SIZE"), noun_of("gpu")
    ('GPUs', 'tasks', 'workers', 'gpus')
    >>> noun_of("GPUs used in the run"), noun_of("Number of Threads"), noun_of("nombre de GPU"), noun_of("GPU数量")
    ('GPUs', 'Threads', 'GPUs', 'gpus')
    """
    canonical = counted_by(column)
    if canonical is None and canonical_of_singular(column) in LEVELS:
        return noun_of(f"{column}es" if column.endswith(("ss", "x")) else f"{column}s")
    of_a_count = r"^(num|number[ _]of|n|no[ _]of|total)[ _]|^n(?=(node|task|proc|gpu|rank)s?$)|[ _](count|num|number)$"
    if canonical not in (*LEVELS, "servers"):
        if canonical_of(column) not in (None, "threads") or not column.endswith("s") or header_of(column).kind:
            return "workers" if column.lower() in words_of("headers.letter_of_workers") else column
        # `concurrent_users` is a plural that no list has.
        return re.sub(of_a_count, "", column, flags=re.IGNORECASE).replace("_", " ")
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", bare(column))
    # `Anzahl GPUs`, `SLURM_NTASKS`, `GPU数量`, `Nodes used in the run`: one word by itself, the last one first.
    words = re.split(r"[ _.-]|(?<=[A-Za-z])(?=[\u3040-\uffff])", plain.lower() if plain.isupper() else plain)
    alone = [re.sub(of_a_count, "", text, flags=re.IGNORECASE) for text in (*reversed(words), plain)]
    for noun in (*alone, *(f"{word}s" for word in alone)):
        if noun.lower().endswith("s") and column_of(canonical, [noun]) is not None and " " not in noun:
            return noun
    return canonical


#: Canonical names of what is counted, from zero on.
COUNTED = (*LEVELS, "devices_per_node", "servers")


def counted_by(column: str) -> str | None:
    """Return what a column counts by its name, as its canonical name; None where it counts none of `COUNTED`."""
    canonical = canonical_of(column)
    return canonical if canonical in COUNTED else None


def counts_devices(column: str) -> bool:
    """Tell whether a name counts devices or nodes, which bring further resources: no processes, threads or users."""
    # A name in the singular counts as well.
    names = (column, f"{column}s")
    return any(map(counted_by, names)) and _spelled(names).isdisjoint(words_of("headers.processes"))


def counts_cores(column: str) -> bool:
    """Tell whether a name counts threads, cores or processes, which the cores of one machine bound."""
    words = {*words_of("headers.processes"), *words_of("headers.cores"), *words_of("headers.on_cores")}
    words |= {*ALIASES["threads"]}
    return not _spelled((column, f"{column}s")).isdisjoint(words)


def counts_scale(column: str) -> bool:
    """Tell whether a name counts what runs are scaled by: devices, nodes, processes, threads or cores."""
    return meant_by(column) in LEVELS or counts_cores(column)


def column_named(name: str, columns: Collection[str]) -> str | None:
    """Return the column that a question means: by its header, however it is written, or by the field's name for it.

    >>> column_named("p", ["Processors, p", "Time, T (s)"]), column_named("x", ["Processors, p"])
    ('Processors, p', None)
    """
    if name in columns:
        return name
    cores = words_of("headers.cores")
    spellings = (
        *(plain_name, lambda n: counted_noun(n).removesuffix("s"), letter_of, canonical_of, canonical_of_singular),
        lambda n: cores[0] if counted_noun(n) in cores else None,
    )
    names = dict.fromkeys(spelled(name) for spelled in spellings)
    for spelled in spellings:
        # Of several columns that are spelled alike the first.
        by_spelling = {spelled(column): column for column in reversed(list(columns))}
        matched = next((by_spelling[key] for key in names if key is not None and key in by_spelling), None)
        if matched is not None:
            return matched
    return None


def _spelled(names: Iterable[str]) -> set[str]:
    """Return all spellings of some names."""
    return {spelling for name in names for spell in _SPELLINGS for spelling in spell(name)}


def is_relative(name: str) -> bool:
    """Tell whether a column is a throughput over a constant, of all devices or of one: `speedup`, `S(p)`."""
    if _OF_A_COUNT.fullmatch(name.strip()) is not None:
        return True
    return _RELATIVE.fullmatch(plain_name(name).replace("/", "_").strip("_.")) is not None


def is_efficiency(name: str) -> bool:
    """Tell whether a column is the throughput of each device over that of the smallest count, by its name."""
    return _EFFICIENCY.fullmatch(plain_name(name).replace("/", "_").strip("_.")) is not None
