"""What stands in a file: read up to a bound, decompressed, decoded; formats that are no text are named."""

import codecs
import contextlib
import glob
import io
import os
import re
import stat
import sys
import tarfile
import tempfile
import threading
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Literal

from genperf.errors import GenperfError, TableError, did_you_mean

# How much is read at most, and how long is waited: a file may come from someone else.
#: Bytes of what does not show its size beforehand, a compressed file, standard input, a pipe or a device: they are
#: read into memory, where a table takes about ten times as much.
MAX_FILE_BYTES = 256_000_000
#: Bytes or characters at the beginning of a file in which its kind and its delimiter are recognised: 200 rows of
#: 300.
HEAD_BYTES = 1 << 16
#: Cells of a Parquet file that are read into memory, whatever its size: a column of one value takes nothing
#: in the file. A cell takes 8 to 60 bytes.
MAX_PARQUET_CELLS = 50_000_000
#: Files of a folder: each takes about a millisecond and becomes a row.
MAX_FILES = 20_000
#: Seconds until a process opens the other end of a named pipe; what it does after that may take any time. A guess:
#: two commands of one line start within a second, also on a busy machine within ten.
PIPE_SECONDS = 10.0
#: How runs are told in the place of a file.
OF_WORDS = "a run in words begins with its devices: 8xh100 7B 76800tok/s; several are 1 gpu 100 img/s, 2 gpus 190 img/s"
#: What messages call it.
STANDARD_INPUT = "standard input"
_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma", b"\x28\xb5\x2f\xfd": "zstd"}
#: Where a tar says that it is one, and how the folder is called in which archives are unpacked.
_TAR_SIGN, _UNPACKED = 257, "genperf-unpacked-"
#: Colours and movements of a terminal.
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: How files begin that hold tables and no text: compressed ones, Parquet, workbooks.
OF_TABLES = (*_COMPRESSED, b"PAR1", b"PK\x03\x04")
#: Files of other formats, by how they begin, and texts that only an importer reads.
_FORMATS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("formats.toml").read_text("utf-8"))
SIGNATURES: dict[str, str] = _FORMATS["importers"]
WEB_PAGE = re.compile(r"\s*<(!doctype|html|head|body|table|\?xml)\b", re.IGNORECASE)
#: What begins like a letter of UTF-8, and control characters that no text has.
_LIKE_UTF_8, _CONTROL = re.compile(rb"[\xc2-\xf4][\x80-\xbf]"), re.compile(rb"[\0-\x08\x0e-\x1f\x7f]")


def read_content(source: str | Path) -> tuple[str, bytes]:
    """Return what messages call a file, or standard input ("-"), and its content, decompressed whatever its name."""
    _refuse_address(source)
    if str(source) != "-":
        try:
            data = read_bounded(os.path.expanduser(source), MAX_FILE_BYTES)
        except (OSError, ValueError, RuntimeError) as error:
            raise _unreadable(source, error) from None
        return str(source), _decompressed(data, str(source))
    name, stream = STANDARD_INPUT, getattr(sys.stdin, "buffer", sys.stdin)
    return name, _decompressed(_bounded(stream.read(MAX_FILE_BYTES + 1), name, MAX_FILE_BYTES), name)


def _refuse_address(source: str | Path) -> None:
    """Refuse the address of a server."""
    if re.match(r"[a-z][a-z0-9+.-]+:/", str(source), re.IGNORECASE) and not os.path.exists(source):
        raise TableError("is an address, and no network is used", hint="download the file first", where=str(source))


class Files(str):
    """Several files of one table, as a shell expands a pattern; their text is what messages call them."""

    __slots__ = ("files",)
    files: tuple[str, ...]

    @classmethod
    def named(cls, files: Sequence[str]) -> "Files":
        """Return files as one source, which is called by the first of them."""
        several = cls(f"{files[0]} and {len(files) - 1} more")
        several.files = tuple(files)
        return several


def names_several(source: str | Path) -> bool:
    """Tell whether a path is that of a folder, of an archive of one, or a pattern of files."""
    if isinstance(source, Files):
        return True
    text = os.path.expanduser(source)
    is_pattern = any(c in text for c in "*?[") and not os.path.exists(text)
    return os.path.isdir(text) or is_pattern or is_archive(text)


def is_archive(path: str) -> bool:
    """Tell whether a path is that of a tar or a zip of files, and of none that is one document."""
    if not os.path.isfile(path):
        return False
    with contextlib.suppress(OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError):
        with open(path, "rb") as file:
            head = file.read(_TAR_SIGN + 5)
        if head[:4] == b"PK\x03\x04":
            names = zipfile.ZipFile(path).namelist()
            return not any(name.rpartition("/")[2].endswith(tuple(_FORMATS["of_documents"])) for name in names)
        return (head[_TAR_SIGN:] == b"ustar" or head.startswith((*_COMPRESSED,))) and tarfile.is_tarfile(path)
    return False


@contextlib.contextmanager
def unpacked(sources: Sequence[str | Path]) -> Iterator[list[str | Path]]:
    """Yield sources, in the place of an archive a folder of its files, which an error names as the archive does."""
    folders: dict[str | Path, str] = {}
    with contextlib.ExitStack() as stack:
        for source in sources:
            if source != "-" and is_archive(path := os.path.expanduser(source)):
                if _UNPACKED in path:
                    raise TableError("is an archive inside another", hint="unpack it", where=path)
                folders[source] = stack.enter_context(tempfile.TemporaryDirectory(prefix=_UNPACKED))
                _unpack(path, folders[source])
        try:
            yield [folders.get(source, source) for source in sources]
        except GenperfError as error:
            for source, folder in folders.items():
                error.where = error.where and error.where.replace(folder, str(source))
                error.message = error.message.replace(folder, str(source))
            raise


def _unpack(path: str, folder: str) -> None:
    """Write the files of an archive, and no link, below a folder."""
    members: Iterable[tuple[str, int, Any]]
    try:
        with zipfile.ZipFile(path) if zipfile.is_zipfile(path) else tarfile.open(path) as archive:
            if isinstance(archive, zipfile.ZipFile):
                opened: Callable[[Any], Any] = archive.open
                members = ((m.filename, m.file_size, m) for m in archive.infolist() if not m.is_dir())
            else:
                opened, members = archive.extractfile, ((m.name, m.size, m) for m in archive if m.isfile())
            size = 0
            for count, (name, size_of_file, member) in enumerate(members, 1):
                size += size_of_file
                if size > MAX_FILE_BYTES or count > MAX_FILES:
                    most = f"more than {MAX_FILE_BYTES // 1_000_000} MB, or {MAX_FILES:,} files"
                    raise TableError(f"is an archive of {most}", hint="unpack it, and name its folder", where=path)
                place = Path(folder, *(part for part in Path(name).parts if part not in ("/", "..")))
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(opened(member).read())
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, tarfile.TarError, zipfile.BadZipFile) as error:
        hint = "unpack it, and name its folder"
        raise TableError(f"is an archive that cannot be unpacked ({error})", hint=hint, where=path) from None


def files_of(source: str | Path) -> list[str]:
    """Return the files that a path, a folder or a pattern names, or standard input ("-")."""
    _refuse_address(source)
    if isinstance(source, Files):
        return [file for of in source.files for file in files_of(of)]
    text = os.path.expanduser(source)
    if text == "-" or not names_several(source):
        return [text]
    if Path(text).is_dir():
        return _files_in(text)
    files = sorted(name for name in glob.glob(text, recursive=True) if Path(name).is_file())
    if not files:
        hint = OF_WORDS if re.search(r"\d.* ", text) else "quote the pattern, and check the folder"
        raise TableError("no file matches", hint=hint, where=str(source))
    return files


def _files_in(folder: str) -> list[str]:
    """Return the files in a folder and inside it, without hidden and empty ones but hidden settings."""
    files: list[str] = []
    for place, folders, names in os.walk(folder):
        hidden = os.path.basename(place).startswith(".") and place != folder
        # What `walk` enters next are the folders that stay in its list.
        beside_files = [n for n in folders if names or not n.startswith(".")]
        folders[:] = [] if hidden else sorted(n for n in beside_files if not n.startswith("__"))
        endings = (".yaml", ".yml") if hidden else ("",)
        paths = (os.path.join(place, n) for n in sorted(names) if not n.startswith(".") and n.endswith(endings))
        files += [path for path in paths if os.path.isfile(path) and os.path.getsize(path)]
        if len(files) > MAX_FILES:
            what = f"holds more than {MAX_FILES:,} files"
            raise TableError(what, hint="name a folder or a pattern of the runs alone", where=folder)
    if not files:
        raise TableError(
            "is a folder without a file that holds anything", hint="name the folder of the runs", where=folder
        )
    return files


def read_bounded(path: str | Path, most: int) -> bytes:
    """Read a file; one that does not tell its size, a pipe or a device, up to a bound of bytes."""
    with open_stream(path, "rb") as file:
        status = os.fstat(file.fileno())
        bounded = not stat.S_ISREG(status.st_mode)
        # A log that grows while it is read is read as it was; files of /proc tell no size.
        data = file.read(most + 1 if bounded else status.st_size or -1)
    return _bounded(data, str(path), most) if bounded else data


def head_of(path: str) -> bytes:
    """Return how a file begins, by which its kind is recognised."""
    if os.path.exists(path) and not os.path.isdir(path) and not os.path.isfile(path):
        hint = "leave --aggregate out, or write it to a file first"
        raise TableError("is a pipe or a device, which cannot be read twice", hint=hint, where=path)
    try:
        with open(path, "rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise _unreadable(path, error) from None


def _bounded(data: bytes | str, name: str, most: int) -> bytes:
    """Return what was read of a stream."""
    encoded = data.encode() if isinstance(data, str) else bytes(data)
    if len(encoded) > most:
        hint = "write it to a file: a table of that size is summarised while it is read"
        raise GenperfError(f"holds more than {most / 1e6:g} MB, and does not tell its size", hint=hint, where=name)
    return encoded


def refuse_other_text(text: str, name: str) -> None:
    """Refuse a text of a known kind that is no table."""
    start = text[:HEAD_BYTES]
    if WEB_PAGE.match(text):
        if start.lstrip().startswith("<?xml") and "<html" not in start.lower():
            raise TableError("is XML, which is not read", hint="export it as CSV or JSON", where=name)
        what = "is a web page without a table"
        raise TableError(what, hint="download the file itself, or copy its table", where=name)
    if re.match(r'\s*\{\s*"program": ?"genperf"', start):
        hint = "ask, predict, explain, report, suggest, compare and optimize take it"
        raise TableError("is a model, not a table of runs", hint=hint, where=name)


def of_windows(data: bytes) -> bool:
    """Tell whether bytes that are no UTF-8 are text of Windows (cp1252): printable, and nothing like UTF-8 in them."""
    # In a text of letters with accents most are without: other code pages have most letters beyond ASCII.
    foreign = len(data.translate(None, bytes(range(128))))
    if not 0 < 10 * foreign < 3 * len(data) or _LIKE_UTF_8.search(data) or _CONTROL.search(data):
        return False
    try:
        return bool(data.decode("cp1252"))
    except UnicodeDecodeError:
        return False


def decoded(data: bytes, name: str) -> str:
    """Return text in UTF-8, in UTF-16 with its mark, or in the code page that Excel writes in Western Europe.

    A file of a format that is no text is refused, by its `name`.
    """
    for kind in _FORMATS["foreign"]:
        begins = tuple(magic.encode("latin-1") for magic in kind["begins"])
        if data.startswith(begins, kind.get("at", 0)) and kind.get("holds", "").encode() in data:
            raise TableError(f"is {kind['is']}", hint=kind["try"], where=name)
    encoding = next((e for mark, e in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if of_windows(data):
            return data.decode("cp1252")
        before = data[: error.start]
        line, byte = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        what = f"byte {byte} of this line is not {encoding.removesuffix('-sig').upper()} text"
        raise TableError(what, hint="save the file as UTF-8", where=f"{name}: line {line}") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        hint = "save a text in UTF-16 or UTF-32 as UTF-8"
        raise TableError("holds a NUL byte: this is not a text file", hint=hint, where=f"{name}: line {line}")
    return _COLOURS.sub("", text) if "\x1b" in text else text


def read_text(source: str | Path) -> tuple[str, str]:
    """Read a text file of any kind, or standard input ("-"): compressed or not, UTF-8, or UTF-16 with its mark."""
    name, data = read_content(source)
    return name, decoded(data, name)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file, and say of one that cannot be written what to try."""
    try:
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        hint = "name a file in a folder that there is"
        raise GenperfError(f"cannot be written ({error.strerror})", hint=hint, where=str(path)) from None


def _unreadable(path: str | Path, error: Exception) -> TableError:
    """Return the error for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        hint = f"--at {path}" if "=" in str(path) else None
        if hint is None and " " in str(path):
            hint = OF_WORDS
        with contextlib.suppress(OSError, RuntimeError):
            # The file of the same folder that may have been meant.
            hint = hint or did_you_mean(Path(path).name, os.listdir(os.path.expanduser(Path(path).parent)))
        return TableError("no such file", hint=hint, where=str(path))
    if isinstance(error, IsADirectoryError):
        return TableError("is a directory, not a file", hint="name a file in it", where=str(path))
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TableError(f"cannot be read ({reason})", where=str(path))


def _decompressed(data: bytes, name: str) -> bytes:
    """Return what a compressed file holds; another one stays as it is."""
    kind = next((kind for magic, kind in _COMPRESSED.items() if data.startswith(magic)), None)
    if kind is None:
        return data
    try:
        with _opener(kind, name)(io.BytesIO(data)) as file:
            content = bytes(file.read(MAX_FILE_BYTES + 1))
    except (OSError, EOFError, ValueError, zlib.error, import_module("lzma").LZMAError):
        raise TableError("the compressed file is damaged or cut off", where=name) from None
    if len(content) > MAX_FILE_BYTES:
        what = f"holds more than {MAX_FILE_BYTES // 1_000_000} MB when it is decompressed"
        hint = "decompress it first: a plain table of that size is summarised while it is read"
        raise TableError(what, hint=hint, where=name)
    if content.startswith((*_COMPRESSED,)):
        raise TableError("is compressed twice", hint="decompress it once", where=name)
    return content


def _opener(kind: str, name: str) -> Callable[[io.BytesIO], Any]:
    """Return the function that opens a compressed stream."""
    with contextlib.suppress(ImportError):
        opened: Callable[[io.BytesIO], Any] = import_module("compression.zstd" if kind == "zstd" else kind).open
        return opened
    try:
        arrow = import_module("pyarrow")
    except ImportError:
        hint = 'decompress it: zstd -d FILE; or pip install "genperf[parquet]", which reads it'
        raise TableError("is compressed with zstd, which is not read here", hint=hint, where=name) from None
    return lambda stream: arrow.CompressedInputStream(stream, "zstd")


def open_stream(path: str | Path, mode: Literal["rb", "wb"]) -> IO[bytes]:
    """Open a file; a named pipe as soon as another process opens its other end."""
    if not Path(path).is_fifo():
        return open(path, mode)
    from concurrent.futures import Future

    opened: Future[int] = Future()

    def wait() -> None:
        try:
            opened.set_result(os.open(path, os.O_RDONLY if mode == "rb" else os.O_WRONLY))
        except OSError as error:
            opened.set_exception(error)

    threading.Thread(target=wait, daemon=True).start()
    try:
        return os.fdopen(opened.result(PIPE_SECONDS), mode)
    except TimeoutError:
        with contextlib.suppress(OSError):
            # Opened at both ends at once, the pipe lets the thread end.
            for handle in (os.open(path, os.O_RDWR | os.O_NONBLOCK), opened.result(PIPE_SECONDS)):
                os.close(handle)
        who, does = ("writer", "writes to") if mode == "rb" else ("reader", "reads")
        what, hint = f"is a pipe that no process {does}", f"start the {who} first, or name a file"
        raise GenperfError(f"{what}; waited {PIPE_SECONDS:g} s", hint=hint, where=str(path)) from None
