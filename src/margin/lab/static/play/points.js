// Points that can be dragged, added, deleted, or read from a table of one's own.
import { html, useRef, useState } from "/static/vendor/preact-htm.js";

const MOST = 600, LEAST = 3, EVERY = 70; // points; milliseconds between two fits while one drags
const round = (v) => Math.round(v * 1000) / 1000;

export const pointsAsText = (points) => points.map((p) => p.map(round).join(",")).join(";");
export const pointsFromText = (text) => (text || "").split(";").filter(Boolean).map((part) => part.split(",").map(Number)).filter((p) => p.length >= 2 && p.every(Number.isFinite)).slice(0, MOST);

/** Editing of a chart's points; `commit(points)` begins a fit with them. */
export function usePoints(frame, points, brush, commit) {
  const [, redraw] = useState(0);
  const held = useRef({ list: null, taken: -1, sent: 0, timer: 0 }), h = held.current;
  const chart = frame?.panels.find((panel) => panel.points?.editable);
  const labels = chart?.points.given ?? chart?.points.label; // a row that has none keeps none
  const current = () => h.list ?? (points.length ? points : (chart?.points.xy ?? []).map(([x, y], i) => labels ? [x, y, labels[i]] : [x, y]).map((p) => p.map(round)));
  const send = (list, last) => {
    clearTimeout(h.timer);
    const wait = last ? 0 : Math.max(0, h.sent + EVERY - performance.now());
    h.timer = setTimeout(() => { h.sent = performance.now(); commit(list, last); }, wait);
  };
  const change = (list, last = true) => { h.list = list; redraw((n) => n + 1); send(list, last); };
  return {
    points: h.list ?? (points.length ? points : null),
    get dragging() { return h.taken >= 0; },
    take: (i) => { h.list = current().map((p) => [...p]); h.taken = i; },
    move: ([x, y]) => { if (h.taken < 0) return; h.list = h.list.map((p, i) => i === h.taken ? [round(x), round(y), ...p.slice(2)] : p); redraw((n) => n + 1); send(h.list, false); },
    drop: () => { if (h.taken < 0) return; h.taken = -1; send(h.list, true); },
    add: ([x, y]) => { const list = current(); if (list.length < MOST) change([...list, chart?.points.label ? [round(x), round(y), brush] : [round(x), round(y)]]); },
    remove: (i) => { const list = current(); if (list.length > LEAST) change(list.filter((_, k) => k !== i)); },
    reset: () => { h.list = null; h.taken = -1; },
  };
}

/** Numbers of a delimited text: columns by name, and the values of each that is a number. */
export function readTable(text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).filter((line) => line.trim());
  if (lines.length < 2) throw new Error("The file needs a line of names and some rows.");
  const sign = [",", ";", "\t"].map((s) => [lines[0].split(s).length, s]).sort((a, b) => b[0] - a[0])[0][1];
  const split = (line) => (line.match(sign === "\t" ? /[^\t]*(?:\t|$)/g : new RegExp(`("(?:[^"]|"")*"|[^${sign}]*)(?:${sign}|$)`, "g")) ?? []).map((cell) => cell.replace(new RegExp(`${sign}$`), "").trim().replace(/^"|"$/g, "").replaceAll('""', '"'));
  const names = split(lines[0]).filter((name, i, list) => name || i < list.length - 1);
  const rows = lines.slice(1, MOST * 20).map(split);
  return names.map((name, j) => ({ name: name || `column ${j + 1}`, values: rows.map((row) => row[j] ?? "") }));
}

const numeric = (column) => column.values.filter((v) => v !== "" && Number.isFinite(Number(v))).length > column.values.length / 2;

/** A file of one's own: two columns of numbers, and one for the classes where the model has them. */
export function OwnTable({ classes, onPoints }) {
  const [columns, setColumns] = useState(null);
  const [problem, setProblem] = useState("");
  const [picked, setPicked] = useState([0, 1, ""]);
  const read = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    try {
      if (file.size > 5e6) throw new Error("A table for this stage may have at most 5 MB; Compare takes larger ones.");
      const found = readTable(await file.text()), usable = found.filter(numeric);
      if (usable.length < 2) throw new Error(`${file.name} has fewer than two columns of numbers.`);
      setColumns(found); setProblem("");
      const other = found.findIndex((column) => !usable.slice(0, 2).includes(column) && new Set(column.values).size <= 10);
      use(found, [found.indexOf(usable[0]), found.indexOf(usable[1]), other < 0 ? "" : other]);
    } catch (error) { setProblem(error.message); }
  };
  const use = (list, choice) => {
    setPicked(choice);
    const [x, y, c] = choice, labels = c === "" ? null : [...new Set(list[c].values)].sort();
    const rows = list[x].values.map((v, i) => [v === "" ? NaN : Number(v), list[y].values[i] === "" ? NaN : Number(list[y].values[i]), ...(classes ? [labels ? Math.min(labels.indexOf(list[c].values[i]), 9) : 0] : [])]).filter((row) => row.every(Number.isFinite));
    const every = Math.ceil(rows.length / MOST), chosen = rows.filter((_, i) => i % every === 0);
    if (chosen.length >= LEAST) onPoints(scaled(chosen)); else setProblem("These columns have too few rows of numbers.");
  };
  const menu = (k, label, optional) => html`<label>${label} <select value=${picked[k]} onChange=${(event) => use(columns, picked.map((v, i) => i === k ? (event.target.value === "" ? "" : Number(event.target.value)) : v))}>${optional && html`<option value="">none</option>`}${columns.map((column, j) => html`<option value=${j}>${column.name}</option>`)}</select></label>`;
  return html`<div class="own"><label class="button">Your table<input class="aside" type="file" accept=".csv,.tsv,.txt,text/csv" onChange=${read} /></label>
    ${columns && html`<div class="row">${menu(0, "across")}${menu(1, "up")}${classes && menu(2, "class", true)}</div>`}${problem && html`<p class="problem">${problem}</p>`}</div>`;
}

/** Columns in their units can be far from where methods expect them: each is brought to mean 0 and deviation 1. */
function scaled(rows) {
  const stats = [0, 1].map((k) => { const list = rows.map((r) => r[k]), mean = list.reduce((a, b) => a + b, 0) / list.length; return [mean, Math.sqrt(list.reduce((a, b) => a + (b - mean) ** 2, 0) / list.length) || 1]; });
  return rows.map((row) => [...stats.map(([mean, deviation], k) => round((row[k] - mean) / deviation)), ...row.slice(2)]);
}
