"""Fuzz one target, guided by coverage (atheris): `python tests/fuzz/fuzz.py formula -runs=1000000`.

Further arguments are those of libFuzzer. `pip install -e ".[test,fuzz]"` installs what is needed.
"""

import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Write the seeds where libFuzzer reads them, and start it."""
    import atheris

    # What is imported here counts its lines, which guides the fuzzer.
    with atheris.instrument_imports(include=["genperf"]):
        from targets import TARGETS, read

    name, *options = sys.argv[1:]
    target = TARGETS[name]
    corpus = Path(tempfile.mkdtemp())
    for number, seed in enumerate(target.seeds):
        (corpus / str(number)).write_bytes(seed)
    words = corpus.parent / f"{corpus.name}.dict"
    words.write_text("".join('"' + "".join(f"\\x{b:02x}" for b in word) + '"\n' for word in target.words))
    longest = max(4096, *(2 * len(seed) for seed in target.seeds))
    arguments = [f"-dict={words}", f"-max_len={longest}", "-timeout=20", "-rss_limit_mb=2048", *options, str(corpus)]
    atheris.Setup([sys.argv[0], *arguments], lambda data: read(target, data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
