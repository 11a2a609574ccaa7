"""Reads report.html without a browser: its tables, figures, links and embedded JSON."""
import html.parser
import json

VOID = {"meta", "link", "input", "br", "img"}


class Table:
    def __init__(self, path, process):
        self.path, self.process = path, process  # `process`: its index; None: of the run
        self.keys, self.rows = [], []  # a cell: {"v": exact number or None, "text", "titles"}


class Page(html.parser.HTMLParser):
    """`tables`, `figures` (process, path, value), `scripts` by id, `tags`, `attributes`, `ids`."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.figures, self.scripts = [], [], {}
        self.tags, self.attributes, self.ids, self.open = set(), [], [], []
        self.process = self.cell = self.script = None
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        self.tags.add(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if "id" in names:
            self.ids.append(names["id"])
        if tag not in VOID and tag not in ("path", "rect", "line"):
            self.open.append(tag)
        if tag == "article":
            self.process = int(names["id"][1:])
        elif tag == "table":
            is_of_run = self.process is None
            self.tables.append(Table(names["data-list"], None if is_of_run else self.process))
        elif tag == "th":
            self.tables[-1].keys.append(names["data-key"])
        elif tag == "tr" and "tbody" in self.open:
            self.tables[-1].rows.append([])
        elif tag == "td":
            v = names.get("data-v")
            self.cell = {"v": None if v is None else float(v), "text": "", "titles": []}
            self.tables[-1].rows[-1].append(self.cell)
        elif "data-path" in names:
            self.figures.append((self.process, names["data-path"], float(names["data-v"])))
        if self.cell is not None and "title" in names:
            self.cell["titles"].append(names["title"])
        if tag == "script":
            self.script = names.get("id", "script")
            self.scripts[self.script] = ""

    def handle_endtag(self, tag):
        if tag in ("path", "rect", "line"):
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()
        if tag == "td":
            self.cell = None
        elif tag == "article":
            self.process = None
        elif tag == "script":
            self.script = None

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_data(self, data):
        if self.script is not None:
            self.scripts[self.script] += data
            return
        if "style" in self.open:
            return
        self.text += data
        if self.cell is not None:
            self.cell["text"] += data

    def json(self, name):
        return json.loads(self.scripts[name])

    def table(self, path, process=0):
        (found,) = [t for t in self.tables if (t.path, t.process) == (path, process)]
        return found


def value_at(value, path):
    """Returns what report.json has at a path such as "gpu.0.busy_pct", or None."""
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value
