"use strict";
(() => {
  const root = document.documentElement, theme = document.getElementById("theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();

  // What is folded away is printed too.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((d) => { d.open = false; }));

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
