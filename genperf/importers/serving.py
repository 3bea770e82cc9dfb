"""Results of the serving benchmarks of vLLM and SGLang (`--save-result`, `--output-file`): one row a run.

JSON, or a JSON object a line. Names are those of vLLM's `benchmarks/serve.py` and SGLang's `bench_serving.py` of 2025.
"""

from genperf.errors import TableError
from genperf.importers.imported import Imported, Rows, read_values

RATE = "output_throughput"
SIGNATURE = r'"output_throughput"\s*:'
#: What a user sets, where a run has it.
SETTINGS = ("max_concurrency", "request_rate", "num_prompts", "model_id", "tensor_parallel_size", "backend")
#: What was measured beside the throughput of tokens.
MEASURED = (
    *("request_throughput", "total_token_throughput"),
    *("mean_ttft_ms", "mean_tpot_ms", "p99_ttft_ms", "p99_tpot_ms"),
)


def read(text: str, name: str) -> Imported:
    """Read results.

    Examples
    --------
    >>> run = '{"max_concurrency": 8, "output_throughput": 910.5, "mean_ttft_ms": 41.0, "errors": []}'
    >>> read(run, "serve.json").rows
    ({'max_concurrency': 8, 'repeat': 0, 'output_throughput': 910.5, 'mean_ttft_ms': 41.0},)
    """
    runs = read_values(text, name)
    if isinstance(runs[0].value, list):
        runs = runs[0].list()
    if not any(run.has(RATE) for run in runs):
        hint = "vllm bench serve --save-result"
        raise TableError(f"holds no '{RATE}' of a serving benchmark", where=name, hint=hint)
    rows = Rows(RATE, rate=True)
    for run in runs:
        if not run.has(RATE) or run.member(RATE).number() <= 0:
            rows.left_out.append(f"{run.where}: no request was answered")
            continue
        measured = [key for key in (RATE, *MEASURED) if run.value.get(key) is not None]
        rows.add(
            {key: run.value[key] for key in SETTINGS if isinstance(run.value.get(key), int | float | str)},
            {key: run.member(key).number() for key in measured},
        )
    return rows.table(name, "holds no run that answered a request")
