/* The script of report.html. Without it, the page shows all tables and charts. The script adds
 * sorting, searching, zooming and the choice of a theme and of a process. It makes no request. The
 * texts of the profiled program are set as text, never as HTML. */
"use strict";

/* Reads the JSON in a script element. */
function data(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/* Makes an element: element("p", {class: "note"}, "text", child, ...). */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {}))
    made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/* Characters that would make the reader see something else than the text. The same characters as
 * in core/runtime/utf8.h. */
const DECEPTIVE = new RegExp("[\\u0000-\\u0009\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u180e\\u200b" +
  "\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]", "gu");

function harmless(text) {
  return text.replace(DECEPTIVE, "\ufffd");
}

/* Milliseconds as the tables show them. */
function ms(value) {
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0);
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; Math.abs(value) >= 1024 && unit + 1 < units.length; unit++)
    value /= 1024;
  return value.toFixed(unit ? 1 : 0) + " " + units[unit];
}

/* Nanoseconds with a unit that fits. */
function time(ns) {
  return ns < 1e3 ? ns.toFixed(0) + " ns" : ns < 1e6 ? (ns / 1e3).toFixed(ns < 1e5 ? 2 : 1) + " us"
    : ns < 1e9 ? ms(ns / 1e6) + " ms" : (ns / 1e9).toFixed(2) + " s";
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

const report = data("report-json"), views = data("views-json");
const on_theme = []; /* functions that draw again with other colours */
document.documentElement.classList.add("has-js");

/* ---- A text next to the pointer ---- */

const tip = element("div", {id: "tip", role: "status"});
document.body.append(tip);

function show_tip(event, text) {
  tip.textContent = text;
  tip.style.display = text ? "block" : "none";
  const box = tip.getBoundingClientRect();
  let left = event.clientX + 14, top = event.clientY + 16;
  if (left + box.width > innerWidth - 8)
    left = Math.max(8, event.clientX - box.width - 14);
  if (top + box.height > innerHeight - 8)
    top = Math.max(8, event.clientY - box.height - 16);
  tip.style.left = left + "px";
  tip.style.top = top + "px";
}

function hide_tip() {
  tip.style.display = "none";
}

/* ---- Light and dark ---- */

(function theme() {
  const root = document.documentElement, button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const is_dark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const update = () => {
    button.textContent = is_dark() ? "Light" : "Dark";
    on_theme.forEach(draw => draw());
  };
  button.addEventListener("click", () => {
    root.dataset.theme = is_dark() ? "light" : "dark";
    update();
  });
  dark.addEventListener("change", update);
  update();
})();

/* ---- One process at a time ---- */

(function processes() {
  const select = document.getElementById("process");
  const all = [...document.querySelectorAll("article.process")];
  if (all.length < 2) {
    select.remove();
    return;
  }
  for (const article of all)
    select.append(element("option", {value: article.id}, article.dataset.name));
  const choose = id => {
    for (const article of all)
      article.hidden = article.id !== id;
    for (const link of document.querySelectorAll("nav a"))
      link.hash = link.hash.replace(/^#p\d+-/, "#" + id + "-");
    select.value = id;
    on_theme.forEach(draw => draw());
  };
  select.addEventListener("change", () => choose(select.value));
  choose((all.find(article => location.hash.startsWith("#" + article.id + "-")) || all[0]).id);
})();

/* ---- Advice: the first rows, the rest on request ---- */

for (const list of document.querySelectorAll(".advice")) {
  const FIRST = 3, rows = [...list.children];
  if (rows.length <= FIRST + 1)
    continue;
  rows.slice(FIRST).forEach(row => row.classList.add("more"));
  const button = element("button", {type: "button"}, `Show all ${rows.length}`);
  button.addEventListener("click", () => {
    list.classList.add("open");
    button.remove();
  });
  list.after(button);
}
