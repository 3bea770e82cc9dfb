"""Files written whole or not at all, and places that cannot be written refused before the work begins."""

import contextlib
import errno
import glob
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import click

from genperf.errors import GenperfError

#: Ends the name of a file that is being written, beside the one that it becomes.
UNFINISHED = ".part"
#: Characters of the target's name that are in the name of the unfinished file: a name has at most 255 bytes.
NAME_PART = slice(0, 40)
#: Characters of a line that a message quotes.
EXCERPT = 100
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room, or name a file on another disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "name a file in a folder of yours"),
    errno.EROFS: "name a file on a disk that can be written",
    errno.ENAMETOOLONG: "give it a shorter name",
}
#: Parameters of the commands that name files to read, and files to write.
_READ, _WRITTEN = ("table", "model", "source", "sources", "files", "data", "candidates"), ("output", "plot")


def writable(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the name of a file to write, as click's callback; refuse one that cannot be written."""
    if value is not None:
        if not value.strip():
            raise click.BadParameter("the file's name is empty; - is standard output", ctx, param)
        refuse_unwritable(value)
    return value


def refuse_unwritable(path: str) -> None:
    """Refuse a file that cannot be written."""
    if path == "-":
        return
    with _explained(path, "cannot be written"):
        target = _target(path)
        if target is None:
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        file, name = _unfinished(target)
        file.close()
        name.unlink(missing_ok=True)


def refuse_overwriting(parameters: Mapping[str, Any]) -> None:
    """Refuse to write over a file that is read, or two results into one file, from the parameters of a command."""
    written = [str(parameters[name]) for name in _WRITTEN if parameters.get(name) not in (None, "-")]
    if len({os.path.realpath(path) for path in written}) < len(written):
        raise GenperfError("two results are written here", where=written[0], hint="name two files")
    for path in written:
        if os.path.isfile(path) and any(os.path.samefile(path, read) for read in files_read(parameters)):
            raise GenperfError("is read, and would be overwritten", where=path, hint="name another file to write")


def files_read(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a command reads and that are there; a pattern is expanded."""
    values = [parameters[name] for name in _READ if parameters.get(name) is not None]
    for value in values:
        for text in value if isinstance(value, tuple) else (str(value),):
            path = os.path.expanduser(text)
            if "\0" not in path:
                matched = glob.glob(path) if set(path) & set("*?[") else []
                yield from (p for p in [path, *matched] if os.path.isfile(p))


def first_lines(path: str) -> tuple[str, ...]:
    """Return how a text file begins, for a message: three lines, each cut; empty for a file that is no text."""
    with open(path, "rb") as file:
        text = file.read(3 * EXCERPT).decode("utf-8", "replace")
    return () if "\0" in text else tuple(line[:EXCERPT] for line in text.splitlines()[:3])


def made_folder(path: str, names: Iterable[str]) -> Path:
    """Return a folder, made where it is not there, in which files of some names can be written."""
    folder = os.path.expanduser(path)
    if not folder.strip():
        raise GenperfError("the folder's name is empty", hint=". is this folder")
    with _explained(folder, "cannot be made", "name another folder"):
        os.makedirs(folder, exist_ok=True)
    for name in names:
        refuse_unwritable(os.path.join(folder, name))
    return Path(folder)


def write_whole(path: str | Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file, or `-`, piece by piece: a stop at any moment leaves the old file or the new one, never half."""
    pieces: Iterable[str | bytes] = [content] if isinstance(content, str | bytes) else content
    encoded = (p if isinstance(p, bytes) else p.encode("utf-8", "surrogateescape") for p in pieces)
    if str(path) == "-":
        sys.stdout.flush()
        sys.stdout.buffer.writelines(encoded)
        return
    with _explained(str(path), "cannot be written"):
        target = _target(path)
    if target is None:
        from genperf.table.content import open_stream

        with open_stream(path, "wb") as stream:
            stream.writelines(encoded)
        return
    state_of_file = "the file that was there is unchanged" if target.exists() else "nothing is left of it"
    with _explained(str(path), f"could not be written; {state_of_file}"):
        _replace(target, encoded)


def _target(path: str | Path) -> Path | None:
    """Return the regular file that a path names or will name; None for a device or a pipe (/dev/null)."""
    if os.path.isdir(path):
        raise GenperfError("is a folder, not a file", where=str(path), hint="name a file in it")
    if os.path.exists(path) and not os.path.isfile(path):
        return None
    # What a link points to is written, not the link.
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise GenperfError("no such folder to write to", where=str(path), hint="make the folder, or name another file")
    return target


@contextlib.contextmanager
def _explained(path: str, complaint: str, otherwise: str = "name another file") -> Iterator[None]:
    """Raise an error of the system with the file that it is about, what is left of it, and what to try."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        code, reason = (error.errno, error.strerror) if isinstance(error, OSError) else (None, None)
        hint = _HINTS.get(code or 0, otherwise)
        raise GenperfError(f"{complaint} ({reason or error})", where=path, hint=hint) from None


def _replace(target: Path, pieces: Iterable[bytes]) -> None:
    """Write an unfinished file beside the target, to the disk, and give it the target's name."""
    file, name = _unfinished(target)
    try:
        with file:
            if target.exists():
                shutil.copymode(target, name)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    # Bring the new name to the disk as well, where the system can.
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _unfinished(target: Path) -> tuple[BinaryIO, Path]:
    """Return a new file beside the target, and its name."""
    import secrets

    begin = target.name.encode()[NAME_PART].decode(errors="ignore")
    name = target.parent / f".{begin}.{secrets.token_hex(4)}{UNFINISHED}"
    return open(name, "xb"), name


def names_files(text: str) -> bool:
    """Tell whether a text is a file or a folder, a pattern of some, or standard input."""
    return text == "-" or Path(text).expanduser().exists() or bool(glob.glob(text))
