/* Flame graphs: zoom into a frame by a click or Enter, search, hide native or library frames. Arrow
 * keys go to the neighbours, Escape shows all again. */
(function flames() {
  const ROW_PX = 18, NARROWEST = 0.0008; /* share of the width below which a frame is not drawn */

  /* Returns the nodes in the order of the walk: {depth, name, value, parent, children}. */
  function read(graph, hides) {
    const root = {name: -1, value: graph.total, parent: null, children: []}, at = [root];
    for (let i = 0; i < graph.tree.length; i += 3) {
      const depth = graph.tree[i], name = graph.tree[i + 1], value = graph.tree[i + 2];
      const parent = at[depth];
      if (hides.includes(graph.kinds[name])) {
        at[depth + 1] = parent; /* its children take its place */
        continue;
      }
      let node = parent.children.find(child => child.name === name);
      if (node)
        node.value += value;
      else
        parent.children.push(node = {name, value, parent, children: []});
      at[depth + 1] = node;
      at.length = depth + 2;
    }
    return root;
  }

  class Flame {
    constructor(box, graph) {
      this.graph = graph;
      this.is_bytes = graph.what === "bytes";
      this.frames = box.querySelector(".frames");
      this.hides = "";
      this.query = "";
      this.add_tools(box);
      this.frames.addEventListener("keydown", event => this.on_key(event));
      this.reset();
    }

    add_tools(box) {
      const input = element("input", {type: "search", placeholder: "Search frames",
        "aria-label": "Search frames"});
      this.found = element("span", {role: "status"});
      input.addEventListener("input", () => {
        this.query = input.value.toLowerCase();
        this.draw();
      });
      const row = element("div", {class: "search"}, input);
      for (const [kind, words] of [["n", "native"], ["l", "library"]]) {
        if (!this.graph.kinds.includes(kind))
          continue;
        const check = element("input", {type: "checkbox"});
        check.checked = true;
        check.addEventListener("change", () => {
          this.hides = this.hides.replace(kind, "") + (check.checked ? "" : kind);
          this.reset();
        });
        row.append(element("label", {}, check, ` ${words} frames`));
      }
      const all = element("button", {type: "button"}, "Show all");
      all.addEventListener("click", () => this.reset());
      row.append(all, this.found);
      this.frames.before(row);
      box.append(element("ul", {class: "legend"},
        ...[["p", "Python"], ["l", "Python, library"], ["n", "native"],
          ["g", "kernel, call or wait"]]
          .filter(([kind]) => this.graph.kinds.includes(kind))
          .map(([kind, words]) => element("li", {}, element("i", {class: "key f-" + kind}),
            words))));
    }

    reset() {
      this.root = read(this.graph, this.hides);
      this.zoomed = this.root;
      this.draw();
    }

    text(node) {
      return node === this.root ? "all" : harmless(this.graph.names[node.name]);
    }

    words(node) {
      const share = (node.value / this.graph.total * 100).toFixed(1);
      const value = this.is_bytes ? bytes(node.value) : ms(node.value / 1e6) + " ms";
      return `${this.text(node)}\n${value} per step, ${share} %`;
    }

    draw() {
      const drawn = [];
      this.elements = new Map();
      let deepest = 0, found = 0;
      const add = (node, left, width, depth, is_parent) => {
        const kind = node === this.root ? "all" : this.graph.kinds[node.name];
        const made = element("i", {class: `f-${kind}${is_parent ? " parent" : ""}`, tabindex: "-1",
          "aria-label": this.words(node)}, width > 0.02 ? this.text(node) : "");
        made.style.cssText = `left:${left * 100}%;width:${width * 100}%;top:${depth * ROW_PX}px`;
        if (this.query && node !== this.root
          && this.text(node).toLowerCase().includes(this.query)) {
          made.classList.add("found");
          found++;
        }
        made.addEventListener("click", () => this.zoom(node));
        made.addEventListener("pointermove", event => show_tip(event, this.words(node)));
        made.addEventListener("pointerleave", hide_tip);
        this.elements.set(made, node);
        deepest = Math.max(deepest, depth);
        drawn.push(made);
        if (node === this.zoomed)
          made.tabIndex = 0;
      };
      const walk = (node, left, width, depth) => {
        add(node, left, width, depth, false);
        for (const child of node.children) {
          const share = width * child.value / node.value;
          if (share >= NARROWEST)
            walk(child, left, share, depth + 1);
          left += share;
        }
      };
      const parents = [];
      for (let node = this.zoomed.parent; node; node = node.parent)
        parents.unshift(node);
      parents.forEach((node, depth) => add(node, 0, 1, depth, true));
      walk(this.zoomed, 0, 1, parents.length);
      this.frames.replaceChildren(...drawn);
      this.frames.style.height = (deepest + 1) * ROW_PX + "px";
      this.found.textContent = this.query ? `${found} found` : "";
    }

    zoom(node, focus = false) {
      hide_tip();
      this.zoomed = node;
      this.draw();
      if (focus)
        this.focus(node);
    }

    focus(node) {
      for (const [made, of] of this.elements)
        if (of === node)
          made.focus();
    }

    on_key(event) {
      const node = this.elements.get(document.activeElement);
      if (!node)
        return;
      const siblings = node.parent ? node.parent.children : [node], i = siblings.indexOf(node);
      const to = {ArrowDown: node.children[0], ArrowUp: node.parent, ArrowLeft: siblings[i - 1],
        ArrowRight: siblings[i + 1]}[event.key];
      if (event.key === "Enter")
        this.zoom(node, true);
      else if (event.key === "Escape")
        this.zoom(this.root, true);
      else if (!event.key.startsWith("Arrow"))
        return;
      event.preventDefault();
      if (to)
        this.focus(to);
    }
  }

  for (const box of document.querySelectorAll(".flame")) {
    const graphs = views[box.dataset.process].flame;
    new Flame(box, graphs.find(graph => graph.what === box.dataset.what));
  }
})();
