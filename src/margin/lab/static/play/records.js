// The numbers of the records as curves, and what changed since the last one.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { number } from "/static/play/chart.js";
import { classColor, colors, css } from "/static/play/colors.js";
import { useTheme } from "/static/play/theme.js";

/** Names of records that tell little of how a fit goes. */
export const QUIET = /^(iteration|run|node|machine|steps|depth|leaves|rows|step_size)$|(^|_)(epoch|learning_rate)$/;

const HIGH = 164; // pixels of the chart
const LEAST = 1e-9; // what is below it is no height any more

export function Records({ records, beside, together = false, names = ["A", "B"] }) {
  const keys = [...new Set(records.flatMap(Object.keys))].filter((key) => key !== "iteration");
  const last = records.at(-1) ?? {}, loud = keys.filter((key) => !QUIET.test(key));
  const likely = loud.find((key) => Number.isFinite(last[key])) ?? loud[0] ?? keys[0];
  const [chosen, setChosen] = useState(null);
  const key = keys.includes(chosen) ? chosen : likely;
  const now = records.at(-1), before = records.at(-2);
  if (!now || !keys.length) return null;
  const all = together && !beside && loud.length > 1; // heights above one ground: who is ahead is seen in one chart
  return html`<section class="records card">
    <div class="row"><h3 class="grow">Records</h3>${keys.length > 1 && !all && html`<select aria-label="Number to follow" value=${key} onChange=${(event) => setChosen(event.target.value)}>${keys.map((name) => html`<option value=${name}>${name.replaceAll("_", " ")}</option>`)}</select>`}</div>
    ${key && records.length > 1 && html`<${Curve} key=${all ? loud.join() : ""} logarithmic=${all} names=${all ? loud : names}
      series=${all ? loud.map((name) => records.map((record) => record[name] > LEAST ? record[name] : null)) : [records, beside].filter(Boolean).map((list) => list.map((record) => record[key] ?? null))} />`}
    <dl class="now">${["iteration", ...keys].filter((name) => Number.isFinite(now[name]) && (name !== "iteration" || before)).map((name) => html`<div key=${name}><dt>${name.replaceAll("_", " ")}</dt><dd>${number(now[name] ?? NaN)}${before && name !== "iteration" && now[name] !== before[name] && Number.isFinite(before[name]) && html` <small class=${now[name] < before[name] ? "down" : "up"}>${now[name] < before[name] ? "↓" : "↑"} ${number(Math.abs(now[name] - before[name]))}</small>`}</dd></div>`)}</dl>
  </section>`;
}

function Curve({ series, names, logarithmic = false }) {
  const host = useRef(null), plot = useRef(null), theme = useTheme();
  const length = Math.max(...series.map((list) => list.length));
  const data = [Array.from({ length }, (_, i) => i + 1), ...series.map((list) => Array.from({ length }, (_, i) => list[i] ?? null))];
  useEffect(() => {
    const { muted, rule, sans } = colors(), axis = { stroke: css(muted), grid: { stroke: css(rule), width: 1 }, ticks: { show: false }, font: `11px ${sans}`, size: 42 };
    plot.current = new window.uPlot({
      width: host.current.clientWidth, height: HIGH, legend: { show: false }, cursor: { y: false }, scales: { x: { time: false }, y: { distr: logarithmic ? 3 : 1 } },
      axes: [{ ...axis, size: 24, label: "record", labelSize: 16, labelGap: 0, labelFont: axis.font }, { ...axis, values: (_, ticks) => ticks.map((v) => v === null || (logarithmic && Math.round(Math.log10(v)) % 3) ? "" : number(v)) }],
      series: [{}, ...series.map((_, k) => ({ stroke: css(classColor(k)), width: 2, points: { show: false }, label: names[k] }))],
    }, data, host.current);
    const watch = new ResizeObserver(([entry]) => plot.current?.setSize({ width: entry.contentRect.width, height: HIGH }));
    watch.observe(host.current);
    return () => { watch.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [series.length, theme]);
  useEffect(() => { plot.current?.setData(data); });
  return html`<div class="curve" ref=${host} role="img" aria-label="curve of the records, the last one ${number(series[0].at(-1) ?? NaN)}"></div>`;
}
