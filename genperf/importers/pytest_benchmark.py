"""pytest-benchmark's `--benchmark-json`: one row a round; the parameters of a test are factors, its name a group."""

from genperf.importers.imported import REPEAT, Cell, Imported, Rows, export_of, refuse_clashes

NAME, TIME = "test", "time_s"
SIGNATURE = r'"benchmarks"\s*:'


def read(text: str, name: str) -> Imported:
    """Read an export."""
    hint, rows = "pytest --benchmark-json=FILE", Rows(TIME, [NAME])
    file = export_of(text, name, "benchmarks", "export of pytest-benchmark", hint)
    for test in file.member("benchmarks").list():
        parameters = test.member("params").object() if test.has("params") and test.value["params"] else {}
        params: dict[str, Cell] = {
            key: v.value if isinstance(v.value, int | float) else str(v.value) for key, v in parameters.items()
        }
        refuse_clashes(params, (NAME, REPEAT, TIME), test.where)
        stats = test.member("stats")
        label = test.member("fullname" if test.has("fullname") else "name").text().split("[")[0]
        if not stats.has("data"):
            rows.left_out.append(f"{test.where}: no rounds; run pytest with --benchmark-save-data")
            continue
        for time in stats.member("data").list():
            rows.add({NAME: label, **params}, {TIME: time.number()})
    return rows.table(name, "holds no round", hint.replace(" ", " --benchmark-save-data "))
