/*
 * The timeline of one step on a canvas. Drag or the arrow keys pan, ctrl + wheel, + and - zoom, a
 * click selects a slice, n and p go to the next and the previous slice of the track, Enter zooms to
 * the slice, 0 shows all. Arrows lead from the selected call to the GPU work that it launched.
 */
class Timeline {
  constructor(box, view) {
    this.view = view;
    this.from = 0;
    this.to = view.shown_ns;
    this.selected = -1;
    this.hovered = -1;
    this.closed = new Set();
    this.read();
    this.build(box);
    this.listen();
    on_theme.push(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /* ---- Data ---- */

  read() {
    const ORDER = ["phases", "critical", "idle", "stream", "thread", "ranges", "modules",
      "overhead", "samples", "other"];
    this.slices = [];
    this.tracks = this.view.tracks.map(track => this.read_track(track));
    const order = track => track.kind === "phases" && track.first ? ORDER.length
      : ORDER.indexOf(track.kind);
    this.tracks.sort((a, b) => order(a) - order(b)); /* phases of other threads last */
    this.tracks.forEach(track => {
      if (track.kind === "samples")
        this.closed.add(track);
    });
  }

  read_track(track) {
    const made = {name: harmless(track.name), kind: track.kind, first: this.slices.length, rows: 1};
    const open = [];
    let begin = 0;
    for (let i = 0; i < track.slices.length; i += 5) {
      begin += track.slices[i];
      const ns = track.slices[i + 1];
      while (open.length && open[open.length - 1] <= begin && (ns || open[open.length - 1] < begin))
        open.pop();
      this.slices.push({begin, ns, name: harmless(this.view.texts[track.slices[i + 2]]),
        category: this.view.categories[track.slices[i + 3]], detail: track.slices[i + 4],
        row: open.length, track: made});
      open.push(begin + ns);
      made.rows = Math.max(made.rows, open.length);
    }
    made.end = this.slices.length;
    return made;
  }

  describe(i) {
    const slice = this.slices[i], detail = harmless(this.view.texts[slice.detail]);
    return `${slice.name}\n${time(slice.ns)} from ${time(slice.begin)}, ${slice.track.name}` +
      (detail ? "\n" + detail : "");
  }

  /* ---- Elements ---- */

  build(box) {
    const button = (text, words, act) => {
      const made = element("button", {type: "button", "aria-label": words, title: words}, text);
      made.addEventListener("click", act);
      return made;
    };
    this.canvas = element("canvas", {tabindex: "0", role: "application",
      "aria-label": "Timeline. Arrow keys pan, plus and minus zoom, n and p select slices, " +
        "Enter zooms to the slice, 0 shows all."});
    this.all_arrows = element("input", {type: "checkbox"});
    this.all_arrows.addEventListener("change", () => this.draw());
    this.details = element("div", {class: "details", "aria-live": "polite"},
      "Select a slice to see its line, its operator and its kernel.");
    box.replaceChildren(
      element("div", {class: "bar-of-tools"},
        button("+", "Zoom in", () => this.zoom(0.5)),
        button("\u2212", "Zoom out", () => this.zoom(2)),
        button("Show all", "Show all of the step", () => this.show(0, this.view.shown_ns)),
        element("label", {}, this.all_arrows, " all arrows"),
        this.range = element("span"),
        element("span", {},
          "drag or arrow keys: pan; ctrl + wheel, + and \u2212: zoom; click: select")),
      element("div", {class: "scroll"}, this.canvas), this.legend(), this.details);
  }

  legend() {
    const keys = [["gpu", "kernel"], ["copy", "copy"], ["native", "operator"], ["launch", "launch"],
      ["sync", "synchronization"], ["memory", "allocation"], ["python", "sample"]];
    return element("ul", {class: "legend"}, ...keys.map(([name, words]) =>
      element("li", {}, element("i", {class: "key", style: `--key:var(--${name})`}), words)));
  }

  listen() {
    const at_ns = event =>
      this.from + event.offsetX / this.canvas.clientWidth * (this.to - this.from);
    let drag = null;
    this.canvas.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.metaKey)
        return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, at_ns(event));
    }, {passive: false});
    this.canvas.addEventListener("pointerdown", event => {
      drag = {x: event.clientX, from: this.from, to: this.to, moved: false};
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", event => {
      if (!drag) {
        this.hover(event);
        return;
      }
      const pixels = event.clientX - drag.x,
        ns = pixels / this.canvas.clientWidth * (drag.to - drag.from);
      drag.moved = drag.moved || Math.abs(pixels) > 3;
      if (drag.moved)
        this.show(drag.from - ns, drag.to - ns);
    });
    this.canvas.addEventListener("pointerup", event => {
      if (drag && !drag.moved)
        this.click(event);
      drag = null;
    });
    this.canvas.addEventListener("pointercancel", () => drag = null);
    this.canvas.addEventListener("pointerleave", hide_tip);
    this.canvas.addEventListener("dblclick", () => this.zoom_to_selected());
    this.canvas.addEventListener("keydown", event => this.on_key(event));
  }

  on_key(event) {
    const width = this.to - this.from, pan = share => this.show(this.from + width * share,
      this.to + width * share);
    const acts = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => this.zoom(0.7),
      ArrowDown: () => this.zoom(1.4), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
      "-": () => this.zoom(2), "0": () => this.show(0, this.view.shown_ns),
      Home: () => this.show(0, this.view.shown_ns), n: () => this.step(1), p: () => this.step(-1),
      Enter: () => this.zoom_to_selected(), Escape: () => this.select(-1),
    };
    if (!acts[event.key] || event.ctrlKey || event.altKey || event.metaKey)
      return;
    event.preventDefault();
    acts[event.key]();
  }

  /* ---- What is shown ---- */

  show(from, to) {
    const width = Math.min(Math.max(to - from, 50), this.view.shown_ns);
    this.from = Math.min(Math.max(from, 0), this.view.shown_ns - width);
    this.to = this.from + width;
    this.draw();
  }

  zoom(times, around = this.centre()) {
    this.show(around - (around - this.from) * times, around + (this.to - around) * times);
  }

  /* Returns where the keys and buttons zoom in: at the selected slice, if it is visible. */
  centre() {
    const slice = this.slices[this.selected], at = slice ? slice.begin + slice.ns / 2 : -1;
    return at >= this.from && at <= this.to ? at : (this.from + this.to) / 2;
  }

  zoom_to_selected() {
    const slice = this.slices[this.selected];
    if (slice)
      this.show(slice.begin - slice.ns * 0.1, slice.begin + slice.ns * 1.1);
  }

  select(i) {
    this.selected = i;
    const text = i < 0 ? "" : this.describe(i), end = text.indexOf("\n");
    this.details.replaceChildren(element("b", {}, text.slice(0, end)), text.slice(end));
    this.draw();
  }

  /* Selects the next or the previous slice of the track, and makes it visible. */
  step(by) {
    const track = this.selected < 0 ? this.tracks.find(t => t.kind === "thread") || this.tracks[0]
      : this.slices[this.selected].track;
    const i = this.selected < 0 ? track.first : Math.min(Math.max(this.selected + by,
      track.first), track.end - 1);
    const slice = this.slices[i], width = this.to - this.from;
    if (slice.begin < this.from || slice.begin > this.to)
      this.from = Math.min(Math.max(slice.begin - width / 2, 0), this.view.shown_ns - width);
    this.to = this.from + width;
    this.select(i);
  }

  /* ---- The pointer ---- */

  /* Returns {track} of the heading or {slice} at a place of the canvas. */
  find(event) {
    const ns = this.from + event.offsetX / this.canvas.clientWidth * (this.to - this.from);
    const slack = (this.to - this.from) / this.canvas.clientWidth * 2;
    for (const track of this.tracks) {
      if (event.offsetY < track.top || event.offsetY >= track.bottom)
        continue;
      const row = Math.floor((event.offsetY - track.top - Timeline.HEAD) / Timeline.ROW);
      if (row < 0)
        return {track};
      for (let i = track.end - 1; i >= track.first; i--) {
        const slice = this.slices[i];
        if (slice.row === row && slice.begin - slack <= ns && slice.begin + slice.ns + slack >= ns)
          return {slice: i};
      }
    }
    return {};
  }

  hover(event) {
    const at = this.find(event);
    if (at.slice === undefined)
      hide_tip();
    else
      show_tip(event, this.describe(at.slice));
    this.canvas.style.cursor = at.slice !== undefined || at.track ? "pointer" : "grab";
    if (this.hovered !== (at.slice ?? -1)) {
      this.hovered = at.slice ?? -1;
      this.draw();
    }
  }

  click(event) {
    const at = this.find(event);
    if (at.track) {
      this.closed[this.closed.has(at.track) ? "delete" : "add"](at.track);
      this.draw();
      return;
    }
    this.select(at.slice ?? -1);
  }

  /* ---- Drawing ---- */

  layout() {
    let top = Timeline.AXIS;
    for (const track of this.tracks) {
      track.top = top;
      top += Timeline.HEAD + (this.closed.has(track) ? 0 : track.rows * Timeline.ROW + 4);
      track.bottom = top;
    }
    return top;
  }

  draw() {
    const width = this.canvas.clientWidth, height = this.layout(), scale = devicePixelRatio || 1;
    if (!width)
      return;
    this.colours = new Map();
    this.canvas.style.height = height + "px";
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const c = this.canvas.getContext("2d");
    c.scale(scale, scale);
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.range.textContent = `${time(this.from)} to ${time(this.to)}`;
    this.draw_axis(c, width, height);
    for (const track of this.tracks)
      this.draw_track(c, track, width);
    this.draw_arrows(c, width);
  }

  x(ns, width) {
    return (ns - this.from) / (this.to - this.from) * width;
  }

  draw_axis(c, width, height) {
    const rough = (this.to - this.from) / Math.max(width / 110, 1),
      power = 10 ** Math.floor(Math.log10(rough));
    const unit = [1, 2, 5, 10].find(n => n * power >= rough) * power;
    c.fillStyle = colour("card");
    c.fillRect(0, 0, width, height);
    for (let ns = Math.ceil(this.from / unit) * unit; ns <= this.to; ns += unit) {
      const x = this.x(ns, width);
      c.fillStyle = colour("line");
      c.fillRect(x, 0, 1, height);
      c.fillStyle = colour("dim");
      c.fillText(time(ns), x + 4, 9);
    }
  }

  fill_of(slice) {
    const by_category = {kernel: "gpu", gpu_memcpy: "copy", gpu_memset: "mix", launch: "launch",
      graph: "launch",
      sync: "sync", memcpy: "copy", memset: "mix", alloc: "memory", phase: "mix", module: "library",
      operator: "native", sample: "python", nvtx: "comm", library: "leaf"};
    const phases = {forward: "copy", backward: "comm", optimizer: "gpu", data: "input"};
    const critical = {"CPU code": "python", "CPU wait": "sync", "launch delay": "launch",
      "GPU delay": "other", "earlier steps": "mix", unknown: "other"};
    let name = by_category[slice.category] || "other";
    if (slice.category === "phase")
      name = phases[slice.name] || "other";
    else if (slice.category === "critical_path")
      name = critical[slice.name] || "gpu";
    else if (slice.category === "idle")
      name = Timeline.CAUSES[views.causes[slice.name]] || "other";
    if (!this.colours.has(name))
      this.colours.set(name, [colour(name), text_on(colour(name))]);
    return this.colours.get(name);
  }

  draw_track(c, track, width) {
    c.fillStyle = colour("text");
    c.fillText((this.closed.has(track) ? "\u25b8 " : "\u25be ") + track.name, 3,
      track.top + Timeline.HEAD / 2 + 1);
    if (this.closed.has(track))
      return;
    for (let i = track.first; i < track.end; i++) {
      const slice = this.slices[i];
      const left = this.x(slice.begin, width), right = this.x(slice.begin + slice.ns, width);
      if (right < -1 || left > width + 1)
        continue;
      this.draw_slice(c, i, Math.max(left, -2), Math.min(right, width + 2));
    }
  }

  top_of(slice) {
    return slice.track.top + Timeline.HEAD + (this.closed.has(slice.track) ? -Timeline.ROW / 2
      : slice.row * Timeline.ROW);
  }

  draw_slice(c, i, left, right) {
    const slice = this.slices[i], [fill, ink] = this.fill_of(slice), top = this.top_of(slice);
    const width = Math.max(right - left, 1);
    c.fillStyle = fill;
    c.fillRect(left, top, width > 3 ? width - 0.6 : width, Timeline.ROW - 1);
    if (width > 26) {
      c.save();
      c.beginPath();
      c.rect(left, top, width - 2, Timeline.ROW);
      c.clip();
      c.fillStyle = ink;
      c.fillText(slice.name, Math.max(left, 0) + 3, top + Timeline.ROW / 2);
      c.restore();
    }
    if (i === this.selected || i === this.hovered) {
      c.strokeStyle = colour(i === this.selected ? "focus" : "text");
      c.lineWidth = 2;
      c.strokeRect(left + 0.5, top + 0.5, width, Timeline.ROW - 2);
    }
  }

  draw_arrows(c, width) {
    c.strokeStyle = colour("text");
    c.lineWidth = 1;
    const draw = (from, to) => {
      const a = this.slices[from], b = this.slices[to];
      const x1 = this.x(a.begin + a.ns, width), x2 = this.x(b.begin, width);
      const y1 = this.top_of(a) + Timeline.ROW / 2, y2 = this.top_of(b) + Timeline.ROW / 2;
      if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width)
        return;
      c.beginPath();
      c.moveTo(x1, y1);
      c.bezierCurveTo(x1 + 24, y1, x2 - 24, y2, x2, y2);
      c.lineTo(x2 - 5, y2 - 3);
      c.moveTo(x2, y2);
      c.lineTo(x2 - 5, y2 + 3);
      c.stroke();
    };
    const wanted = i => this.all_arrows.checked || i === this.selected || i === this.hovered;
    for (let i = 0; i + 1 < this.view.arrows.length; i += 2) {
      const [from, to] = [this.view.arrows[i], this.view.arrows[i + 1]];
      if (wanted(from) || wanted(to))
        draw(from, to);
    }
  }
}

Timeline.AXIS = 20;
Timeline.HEAD = 18;
Timeline.ROW = 17;
Timeline.CAUSES = {sync: "sync", launch: "launch", host: "host", input: "input",
  contention: "load", copy: "copy",
  alloc: "memory", collective: "comm", module: "mix", gc: "wait", lock: "wait", gil: "wait",
    sleep: "wait",
  io: "wait", child: "wait"};

/* Returns black or white, whichever is easier to read on a colour "#rrggbb". */
function text_on(hex) {
  const parts = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const light = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  return light > 0.179 ? "#000000" : "#ffffff";
}

for (const box of document.querySelectorAll(".timeline"))
  new Timeline(box, views[box.dataset.process].timeline);
