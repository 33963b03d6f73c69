"use strict";
(() => {
  const root = document.documentElement, theme = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // One page is printed: the answer, the board, what to beware. All of it, with what is folded away, on demand.
  const all = document.getElementById("print-all");
  let opened = [];
  if (all) {
    all.hidden = false;
    all.addEventListener("click", () => {
      root.dataset.print = "all";
      opened = [...document.querySelectorAll("details:not([open])")];
      opened.forEach((d) => { d.open = true; });
      print();
    });
  }
  addEventListener("afterprint", () => {
    delete root.dataset.print;
    opened.forEach((d) => { d.open = false; });
    opened = [];
  });

  // The board in the order of another metric, or of any column.
  const board = document.querySelector("table.board"), body = board && board.tBodies[0];
  if (body) {
    const rows = [...body.rows], plain = rows.map((r) => r.querySelector(".score").textContent);
    const scores = rows.map((r) => JSON.parse(r.dataset.scores)), heads = [...board.querySelectorAll("th[data-sort]")];
    const ranks = rows.map((r) => r.cells[0].textContent), metric = document.getElementById("board-metric");
    const label = board.querySelector("th[data-sort=score] span"), decides = label.innerHTML;
    const arrow = board.querySelector("th[data-sort=score] small"), direction = arrow.textContent;
    const text = (x) => (x === undefined ? "\u2013" : Math.abs(x) < 100 ? x.toFixed(4) : x.toFixed(1)).replace("-", "\u2212");
    const order = (key, greater) => {
      const at = rows.map((_, i) => i), value = (i) => key(i);
      at.sort((i, j) => {
        const a = value(i), b = value(j);
        if (a === undefined || b === undefined) return (a === undefined) - (b === undefined) || i - j;
        return (typeof a === "string" ? a.localeCompare(b) : a - b) * (greater ? -1 : 1) || i - j;
      });
      at.forEach((i) => body.append(rows[i]));
    };
    const sorted = (head, way) => heads.forEach((h) => h.setAttribute("aria-sort", h === head ? way : "none"));
    const show = (name, greater) => {
      rows.forEach((r, i) => {
        r.querySelector(".score").textContent = name ? text(scores[i][name]) : plain[i];
        r.cells[0].textContent = name ? "" : ranks[i];
      });
      if (name) label.textContent = name; else label.innerHTML = decides;
      arrow.textContent = name ? (greater ? "higher is better" : "lower is better") : direction;
      board.classList.toggle("other-metric", Boolean(name));
      document.getElementById("board-note").textContent = name ? ` ${decides.replace(/<[^>]*>/g, "")} decided; intervals are of it.` : "";
      order((i) => scores[i][name], greater);
    };
    let current = "";
    const greaterOf = () => metric ? metric.selectedOptions[0].dataset.greater === "1" : direction.startsWith("higher");
    if (metric) {
      metric.closest("p").hidden = false;
      metric.addEventListener("change", () => { current = metric.value; show(current, greaterOf()); sorted(heads[1], greaterOf() ? "descending" : "ascending"); });
    }
    const keys = {
      model: (i) => rows[i].dataset.model,
      score: (i) => scores[i][current],
      fit: (i) => (rows[i].dataset.fit === "nan" ? undefined : Number(rows[i].dataset.fit)),
      predict: (i) => (rows[i].dataset.predict === "nan" ? undefined : Number(rows[i].dataset.predict)),
    };
    heads.forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", (event) => {
        if (event.target.closest("a")) return;
        const first = head.dataset.sort === "score" && greaterOf() ? "descending" : "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const way = head.getAttribute("aria-sort") === first ? other : first;
        order(keys[head.dataset.sort], way === "descending");
        sorted(head, way);
      });
    });
  }

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((a) => a.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -70% 0px" });
  document.querySelectorAll("section").forEach((s) => seen.observe(s));

  const form = document.querySelector("form[data-thresholds]");
  if (!form) return;
  const data = JSON.parse(form.dataset.thresholds), total = data.positive + data.negative;
  const $ = (id) => document.getElementById(id);
  const slider = $("threshold"), line = document.querySelector(".threshold .cost"), at = $("threshold-at");
  const price = (id) => Math.max(Number($(id).value) || 0, 0);
  const cost = () => data.threshold.map((_, i) =>
    (price("cost-false-positive") * data.fp[i] + price("cost-false-negative") * (data.positive - data.tp[i])) / total);
  const short = (x) => (x === 0 ? "0" : Number(x.toPrecision(3)).toString()).replace("-", "\u2212");
  const part = (a, b) => (b ? (100 * a / b).toFixed(1) + "\u202f%" : "\u2013");
  const [left, right, top, bottom] = JSON.parse(form.dataset.box);
  const roundUp = (v) => {
    if (v <= 0) return 1;
    const power = 10 ** Math.floor(Math.log10(v));
    return [1, 2, 4, 6, 8, 10].find((s) => s * power >= v * 0.9999) * power;
  };
  const low = data.threshold[0], high = data.threshold[data.threshold.length - 1];
  const x = (t) => left + (right - left) * (t - low) / (high - low || 1);

  const nearest = (t) => data.threshold.reduce((best, v, i) => (Math.abs(v - t) < Math.abs(data.threshold[best] - t) ? i : best), 0);
  let current = nearest(Number(slider.value));

  function show() {
    const i = current, costs = cost(), most = roundUp(Math.max(...costs)), tp = data.tp[i], fp = data.fp[i];
    const y = (c) => bottom - (bottom - top) * c / most;
    line.setAttribute("points", costs.map((c, k) => `${x(data.threshold[k]).toFixed(1)},${y(c).toFixed(1)}`).join(" "));
    document.querySelectorAll(".threshold .tick-y").forEach((t) => { t.textContent = short(most * Number(t.dataset.part)); });
    at.setAttribute("x1", x(data.threshold[i]));
    at.setAttribute("x2", x(data.threshold[i]));
    $("at-threshold").textContent = short(data.threshold[i]);
    $("at-cost").textContent = short(costs[i]);
    $("at-found").textContent = `${tp} of ${data.positive}`;
    $("at-alarms").textContent = `${fp} of ${data.negative}`;
    $("at-precision").textContent = part(tp, tp + fp);
    $("at-recall").textContent = part(tp, data.positive);
    slider.setAttribute("aria-valuetext", `threshold ${short(data.threshold[i])}, cost ${short(costs[i])}`);
  }
  function cheapest() {
    const costs = cost();
    current = costs.indexOf(Math.min(...costs));
    slider.value = data.threshold[current];
    show();
  }
  slider.addEventListener("input", () => { current = nearest(Number(slider.value)); show(); });
  $("cost-false-positive").addEventListener("input", cheapest);
  $("cost-false-negative").addEventListener("input", cheapest);
  $("cheapest").addEventListener("click", cheapest);
  show();
})();
