"""Texts of Markdown → pages of the site: one folder, one style, no script; `.ci/site.py` says which.

A link of Markdown leads to the page that is made of its file, a picture is copied beside the page; of a link to any other file of the
repository only the words are left. A code of a rule becomes a link to its page.
"""

import posixpath
import re
import shutil
from collections import Counter
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = {
    "README.md": "index", "CHANGELOG.md": "changelog", "SECURITY.md": "security", "CONTRIBUTING.md": "contributing", "LICENSE": "license",
    ".github/SUPPORT.md": "support", ".github/RELEASING.md": "releasing", ".github/CODE_OF_CONDUCT.md": "conduct",
    "benchmarks/README.md": "performance", "benchmarks/incidents/README.md": "bench", "fixtures/README.md": "recordings",
    ".ci/packaging/README.md": "packaging",
}  # fmt: skip
NAVIGATION = {
    "index": "Start", "rules": "Rules", "causes": "Causes", "evidence": "Evidence", "output": "Output", "commands": "Commands",
    "fleet": "Fleet", "security": "Security", "bench": "Bench", "support": "Support", "changelog": "Changelog",
}  # fmt: skip
STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--link:#0b57d0}@media(prefers-color-scheme:dark){:root{--link:#8ab4f8}}
body{margin:0 auto;padding:0 1rem 4rem;max-width:62rem;font:16px/1.55 system-ui,sans-serif}a{color:var(--link)}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:.8rem 0;border-bottom:1px solid var(--line)}nav [aria-current]{font-weight:700}
h1,h2,h3{line-height:1.25}h2{margin-top:2.2rem}img{max-width:100%;height:auto}code,pre{font:.87em/1.45 ui-monospace,monospace}
code{background:var(--soft);padding:.1em .25em;overflow-wrap:break-word}pre{background:var(--soft);padding:.8rem;overflow-x:auto}
pre code{background:none;padding:0;overflow-wrap:normal}.wide{overflow-x:auto}table{border-collapse:collapse}
th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
"""
MARKER = re.compile(r"^<!-- [\w ]+:(?:begin|end) -->$\n?", re.MULTILINE)
CODE = re.compile(r"\b([A-Z]{3}\d{3})\b")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")
MARKDOWN.add_render_rule("table_open", lambda *_: '<div class="wide"><table>')
MARKDOWN.add_render_rule("table_close", lambda *_: "</table></div>\n")


class Site:
    """Pages written into `folder`; `codes`: the rules that have one."""

    def __init__(self, folder, codes):
        self.folder, self.codes = folder, codes

    def destination(self, target, source):
        """Where a link of the file `source` leads: an address, a page, or None for a file that is no page."""
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return target
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if file in DOCUMENTS:
            return f"{DOCUMENTS[file]}.html{'#' if anchor else ''}{anchor}"
        return None if source else target

    def inline(self, tokens, source, own):
        """`tokens` of a line with their links resolved, and each code of another rule as a link to its page."""
        closing = []
        for token in tokens:
            if token.type == "link_open":
                token.attrs["href"] = self.destination(str(token.attrs["href"]), source)
                closing.append(token.attrs["href"])
            if token.type in ("link_open", "link_close"):
                if (closing.pop() if token.type == "link_close" else closing[-1]) is not None:
                    yield token
            elif token.type == "image":
                picture = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(source), str(token.attrs["src"])))
                shutil.copy(picture, self.folder)
                token.attrs["src"] = picture.name
                yield token
            elif token.type == "text" and not closing:
                for word in CODE.split(token.content):
                    linked = f'<a href="{word}.html">{word}</a>' if word in self.codes and word != own else escape(word)
                    yield Token("html_inline", "", 0, content=linked)
            else:
                yield token

    def write(self, name, markdown, source="", title=None):
        """The page `name` of a text, whose links are seen from the file `source`; "" where they are names of pages already."""
        tokens, known = MARKDOWN.parse(MARKER.sub("", markdown)), Counter()
        for opening, line in zip(tokens, [*tokens[1:], None], strict=True):
            if opening.type == "heading_open":
                title = title or line.content
                slug = re.sub(r"[^\w\- ]", "", line.content.lower()).replace(" ", "-")  # as code hosts make them
                opening.attrs["id"] = f"{slug}-{known[slug]}" if known[slug] else slug
                known[slug] += 1
            if opening.type == "list_item_open" and opening.info and name in self.codes:
                opening.attrs["value"] = opening.info  # steps with one number are alternatives, and must not read as one after the other
            if opening.type == "inline":
                opening.children = list(self.inline(opening.children, source, name))
        body = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
        part = "rules" if name in self.codes else name
        links = [f'<a href="{to}.html"{" aria-current=page" if to == part else ""}>{escape(label)}</a>' for to, label in NAVIGATION.items()]
        shown = "diag" if name == "index" else f"{title.replace('`', '')} – diag"
        (self.folder / f"{name}.html").write_text(
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(shown)}</title><style>{STYLE}</style></head>\n<body><nav>{''.join(links)}</nav>\n<main>\n{body}</main></body></html>\n",
            encoding="utf-8",
        )
