/* Tables: sort by a click on a heading or by Enter, search in all cells. */
(function tables() {
  const SEARCHED_FROM = 8; /* rows from which a table has a search field */

  function key(row, column) {
    const cell = row.cells[column];
    return cell.classList.contains("n") ? (cell.dataset.v === undefined ? -Infinity
      : +cell.dataset.v)
      : cell.textContent.toLowerCase();
  }

  function sort(table, heading) {
    const column = heading.cellIndex, is_number = heading.classList.contains("n");
    const before = heading.getAttribute("aria-sort");
    const is_down = before ? before === "ascending" : is_number;
    const rows = [...table.tBodies[0].rows].map(row => [key(row, column), row]);
    rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0) * (is_down ? -1 : 1));
    for (const other of table.tHead.rows[0].cells)
      other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", is_down ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map(row => row[1]));
  }

  function add_search(table) {
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map(row => [row.textContent, ...[...row.querySelectorAll("[title]")].map(
      cell => cell.title)].join(" ").toLowerCase());
    const input = element("input", {type: "search", placeholder: "Search",
      "aria-label": "Search in " + table.parentNode.getAttribute("aria-label")});
    const count = element("span", {role: "status"}, `${rows.length} rows`);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every(word => texts[i].includes(word));
        n += !row.hidden;
      });
      count.textContent = words.length ? `${n} of ${rows.length} rows` : `${rows.length} rows`;
    });
    table.parentNode.before(element("div", {class: "search"}, input, count));
  }

  for (const table of document.querySelectorAll("table[data-list]")) {
    for (const heading of table.tHead.rows[0].cells) {
      heading.tabIndex = 0;
      heading.addEventListener("click", () => sort(table, heading));
      heading.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ")
          return;
        event.preventDefault();
        sort(table, heading);
      });
    }
    if (table.tBodies[0].rows.length >= SEARCHED_FROM)
      add_search(table);
  }
})();

/* ---- One table at a time ---- */

for (const group of document.querySelectorAll("section.group")) {
  const title = group.querySelector("h2[id$='-tables']"),
    lists = [...group.querySelectorAll(".list")];
  if (!title || lists.length < 2)
    continue;
  const tabs = element("div", {class: "tabs", role: "tablist", "aria-label": "Tables"});
  const choose = chosen => {
    lists.forEach((list, i) => {
      list.classList.toggle("off", i !== chosen);
      tabs.children[i].setAttribute("aria-selected", i === chosen);
      tabs.children[i].tabIndex = i === chosen ? 0 : -1;
    });
  };
  lists.forEach((list, i) => {
    const tab = element("button", {type: "button", role: "tab"},
      list.querySelector("h3").textContent);
    tab.addEventListener("click", () => choose(i));
    tabs.append(tab);
  });
  tabs.addEventListener("keydown", event => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key],
      at = [...tabs.children].indexOf(event.target);
    if (!by || at < 0)
      return;
    event.preventDefault();
    const to = (at + by + lists.length) % lists.length;
    choose(to);
    tabs.children[to].focus();
  });
  title.after(tabs);
  choose(Math.max(0, lists.findIndex(list => list.querySelector("h3[id$='-lines']"))));
}

/* ---- The charts of step times and memory: values under the pointer ---- */

(function charts() {
  function follow(plot, text_at) {
    const cursor = element("div", {class: "cursor"});
    cursor.style.display = "none";
    plot.append(cursor);
    plot.addEventListener("pointermove", event => {
      const box = plot.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      cursor.style.left = share * 100 + "%";
      cursor.style.display = "block";
      show_tip(event, text_at(share));
    });
    plot.addEventListener("pointerleave", () => {
      cursor.style.display = "none";
      hide_tip();
    });
  }

  function step_at(steps, process, share) {
    const i = Math.min(Math.floor(share * steps.shown / steps.per), steps.ms.length - 1);
    const first = steps.first + i * steps.per, last = Math.min(first + steps.per,
      steps.first + steps.shown) - 1;
    const recorded = new Set(process.steps.recorded);
    const n = Array.from({length: last - first + 1}, (_, k) => recorded.has(first + k))
      .filter(Boolean).length;
    if (steps.per === 1)
      return `step ${first}: ${ms(steps.ms[i])} ms${n ? ", recorded" : ""}`;
    return `steps ${first} to ${last}: mean ${ms(steps.ms[i])} ms (${ms(steps.low_ms[i])} to ` +
      `${ms(steps.high_ms[i])})${n ? `, ${n} recorded` : ""}`;
  }

  function memory_at(memory, share) {
    const ns = share * memory.ns;
    const lines = memory.series.map(one => {
      const i = Math.min(Math.floor(ns / one.span_ns), one.high.length - 1);
      if (one.high[i] === null)
        return `${one.name}: not known`;
      const range = one.low[i] === one.high[i] ? "" : `${bytes(one.low[i])} to `;
      return `${one.name}: ${range}${bytes(one.high[i])}`;
    });
    return [time(ns), ...lines].join("\n");
  }

  for (const figure of document.querySelectorAll("figure.steps")) {
    const number = figure.dataset.process, view = views[number];
    const plot = figure.querySelector(".plot");
    if (figure.classList.contains("memory"))
      follow(plot, share => memory_at(view.memory, share));
    else
      follow(plot, share => step_at(view.steps, report.processes[number], share));
  }
})();
