"""A file's bytes as text and back: line ends, byte order mark and encoding stay as they were."""

from __future__ import annotations

from dataclasses import dataclass

from cipher_nb.errors import ProposalError

BOM = "\ufeff"


@dataclass(frozen=True)
class Text:
    """A file's text. In `body` every line of a CRLF file ends in `\\n`, and no byte order mark leads.

    A CRLF file is one that ends no line otherwise; in a file of both kinds every line end is as it stands. The body of
    a file that is not UTF-8 has a character for each byte.
    """

    path: str
    body: str
    encoding: str
    has_bom: bool
    is_crlf: bool

    def taken(self, words: str) -> str:
        """Return what an edit says in the terms of `body`; ProposalError where the file's encoding is in doubt."""
        if self.encoding != "utf-8" and not words.isascii():
            raise ProposalError(
                f"{self.path} is not UTF-8 text, so only ASCII can be found or put there; leave out other characters, "
                "or send op 'write' with the whole file, which makes it UTF-8"
            )
        return words.replace("\r\n", "\n") if self.is_crlf else words

    def packed(self, body: str) -> bytes:
        """Return the bytes of the file with another body."""
        ends = body.replace("\n", "\r\n") if self.is_crlf else body
        return (BOM * self.has_bom + ends).encode(self.encoding)


def text_of(path: str, data: bytes) -> Text:
    """Return the text in `data`; ProposalError for a binary file, which is one with a NUL in it."""
    if b"\0" in data:
        raise ProposalError(f"{path} is a binary file; it can be deleted, renamed or written anew, not edited")
    try:
        body, encoding = data.decode(), "utf-8"
    except UnicodeDecodeError:
        body, encoding = data.decode("latin-1"), "latin-1"
    has_bom = encoding == "utf-8" and body.startswith(BOM)
    is_crlf = _is_crlf(body)
    body = body.removeprefix(BOM) if has_bom else body
    return Text(path, body.replace("\r\n", "\n") if is_crlf else body, encoding, has_bom, is_crlf)


def written_over(data: bytes, text: str) -> bytes:
    """Return `text` as UTF-8 for a file that holds `data`, with the line ends and byte order mark of that."""
    has_bom = data.startswith(BOM.encode())
    is_crlf = b"\0" not in data and _is_crlf(data.decode("latin-1"))
    ends = text.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf else text
    return (BOM * has_bom + ends.removeprefix(BOM)).encode() if has_bom else ends.encode()


def _is_crlf(body: str) -> bool:
    return "\r\n" in body and body.count("\r\n") == body.count("\n")
