"""The published JSON Schemas are those of what the commands print with `--json`, and other answers keep them."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers import Shell, shell_of

from genperf.cli.main import cli

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
#: Answers that no schema was made from.
OTHERS = [
    ("ask", ("nets.csv", "--at", "devices=16", "--price", "3/h", "--per", "devices")),
    ("ask", ("nets.csv", "--samples", "1M", "--budget", "1", "--price", "1/h")),
    ("check", ("nets.csv",)),
    ("compare", ("nets.json", "--at", "devices=4", "--price", "1/h")),
    ("compare", ("nets.json", "--at", "devices=4", "--at", "net=a", "--or", "devices=8")),
    ("explain", ("one.json", "--knee")),
    ("optimize", ("nets.json", "--over", "devices=1:8")),
    ("predict", ("nets.json", "--at", "devices=8,16")),
    ("suggest", ("one.json", "--target", "devices=64")),
    ("list", ("world",)),
    ("list", ("models",)),
]


@pytest.fixture(scope="module")
def schemas() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schemas", REFERENCE / "schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def broken(schema: dict[str, Any], value: Any, types: dict[type, str], place: str = "$") -> list[str]:
    """Return where a value does not keep a schema."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = types[type(value)]
    if kind not in kinds and not (kind == "integer" and "number" in kinds):
        return [f"{place}: {kind}, not {kinds}"]
    if isinstance(value, list) and "items" in schema:
        return [text for k, one in enumerate(value) for text in broken(schema["items"], one, types, f"{place}[{k}]")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    out = [f"{place}.{key} is missing" for key in schema["required"] if key not in value]
    for key, one in value.items():
        inner = schema["properties"].get(key)
        out += broken(inner, one, types, f"{place}.{key}") if inner is not None else []
    return out


def test_the_published_schemas_are_those_of_the_program(schemas: ModuleType) -> None:
    published = {path.stem: path.read_text(encoding="utf-8") for path in (REFERENCE / "schemas").glob("*.json")}
    assert published == schemas.schemas(), "run: python docs/reference/schemas.py"


def test_every_command_with_json_has_a_schema(schemas: ModuleType) -> None:
    context = cli.make_context("genperf", ["--quiet"], resilient_parsing=True)
    commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    with_json = {
        name
        for name, command in commands.items()
        if command is not None and any("--json" in option.opts for option in command.params)
    }
    assert with_json == {"fit", *schemas.COMMANDS}


def test_other_answers_keep_the_schemas(
    schemas: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell: Shell = shell_of(capsys)
    rows = "".join(f"{net},{n},{100 * k * n**0.9:g}\n" for k, net in enumerate("ab", 1) for n in (1, 2, 4, 8, 16))
    Path("nets.csv").write_text(f"net,devices,samples_per_s\n{rows}")
    roles = ("--throughput", "samples_per_s", "--work", "devices", "--extrinsic", "devices")
    assert shell("fit", "nets.csv", *roles, "--group", "net", "-o", "nets.json")[0] == 0
    assert shell("fit", "nets.csv", *roles, "--where", "net == 'a'", "-o", "one.json")[0] == 0
    for command, arguments in OTHERS:
        status, out, errors = shell(command, *arguments, "--json")
        assert status == 0, (command, errors)
        schema = json.loads((REFERENCE / "schemas" / f"{command}.json").read_text(encoding="utf-8"))
        assert broken(schema, json.loads(out), schemas.TYPES) == [], (command, arguments)


def test_a_wrong_answer_is_noticed(schemas: ModuleType) -> None:
    schema = schemas.schema_of([{"a": 1, "b": [1.5]}, {"a": 2, "b": [], "c": "x"}])
    assert broken(schema, {"a": 3, "b": [2]}, schemas.TYPES) == []
    assert broken(schema, {"a": "3", "b": ["y"]}, schemas.TYPES) == [
        "$.a: string, not ['integer']",
        "$.b[0]: string, not ['number']",
    ]
    assert broken(schema, {"a": 1}, schemas.TYPES) == ["$.b is missing"]
