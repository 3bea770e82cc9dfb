"""SKILL.md: its commands run, and each field that it names is in the schema of the command."""

import json
import re
import shlex
from pathlib import Path

from helpers import Shell, done

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SKILL.md").read_text(encoding="utf-8")
FIELDS = re.findall(r"^\| ([\w-]+) \| (`.*?`(?:, `.*?`)*) \| (.*) \|$", TEXT, re.MULTILINE)


def names_in(schema: dict[str, object]) -> set[str]:
    """The names of all properties of a schema, however deep."""
    inner = [schema.get("items"), *dict(schema.get("properties") or {}).values()]  # type: ignore[call-overload]
    own = set(dict(schema.get("properties") or {}))  # type: ignore[call-overload]
    return own.union(*(names_in(one) for one in inner if isinstance(one, dict)))


def test_each_field_is_in_the_schema() -> None:
    assert len(FIELDS) >= 6
    for command, fields, meaning in FIELDS:
        schema = json.loads((ROOT / f"docs/reference/schemas/{command}.json").read_text(encoding="utf-8"))
        named = {name.strip() for text in re.findall(r"`([\w, ]+)`", f"{fields} {meaning}") for name in text.split(",")}
        assert named - names_in(schema) == set(), (command, fields)


def test_its_schemas_are_there() -> None:
    for path in re.findall(r"`(docs/[\w/.-]+)`", TEXT):
        assert (ROOT / path).is_file()


def test_its_commands_run(shell: Shell) -> None:
    runs = "gpus,images_per_s\n1,410\n2,792\n4,1530\n8,2905\n"
    for name in ("runs.csv", "history.csv", "new.csv"):
        Path(name).write_text(runs)
    Path("all_reduce.txt").write_text(
        "# nThread 1 nGpus 1\n#  Rank  0 Group  0 Pid  1 on a device  0 [0x07] NVIDIA A100\n"
        " 8589934592 2147483648 float sum -1 33912 253 380 0 33912 253 380 0\n"
    )
    commands = [" ".join(text.split()) for text in re.findall(r"`(genperf [^`]*--json)`", TEXT)]
    assert len(commands) >= 5
    for command in commands:
        out = done(shell, *shlex.split(command)[1:])
        json.loads(out)
