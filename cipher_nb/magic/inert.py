"""Markdown of a model as HTML in which nothing acts by itself: no tags of its own, no images, no scripts in links."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any

from mistune import HTMLRenderer, Markdown, create_markdown

from cipher_nb.chat import visible

LINKS = ("https://", "http://", "mailto:")
BLOCK_STYLE = "margin:.5em 0 1em;padding:.2em 0 .2em .8em;border-left:3px solid #8886"


def inert_html(markdown: str) -> str:
    """Return `markdown` rendered.

    Raw HTML shows as text. A link that is not to a web or mail address is its text alone; an image, which a page would
    fetch unasked, is a link to it. `$` and `\\` begin no formula.
    """
    return str(_render(visible(markdown)))


class _Inert(HTMLRenderer):
    def text(self, text: str) -> str:
        # MathJax looks for its delimiters within one run of text
        return re.sub(r"[$\\]", r"<span>\g<0></span>", escape(unescape(text)))

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if not url.lower().startswith(LINKS):
            return text
        return f'<a href="{escape(url)}" rel="noopener noreferrer" target="_blank">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return self.link(f"[image: {text}]", url)

    def block_code(self, code: str, info: str | None = None) -> str:
        return f'<pre style="{BLOCK_STYLE}"><code>{escape(code)}</code></pre>\n'

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return f"<p><strong>{text}</strong></p>\n"  # the notebook's own headings are not the model's to add to


def _without_html() -> Markdown:
    markdown = create_markdown(renderer=_Inert(), plugins=["table", "strikethrough"])
    markdown.block.rules.remove("raw_html")
    markdown.inline.rules.remove("inline_html")
    return markdown


_render = _without_html()
