// Curves with uPlot, in the colors of the page.
import { html, useEffect, useRef } from "/static/vendor/preact-htm.js";
import { number as short } from "/static/play/chart.js";
import { useTheme } from "/static/play/theme.js";
import { number } from "./parts.js";

const COLORS = ["--s1", "--s2", "--s3", "--s4", "--s5", "--low", "--high", "--mark"];
export const color = (i) => `var(${COLORS[i % COLORS.length]})`;
const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Curves on one pair of axes: `curves` are {name, x, y}; missing values are gaps. */
export function Curves({ curves, label = "", log = false, height = 280 }) {
  const frame = useRef(null), plot = useRef(null), theme = useTheme();
  const shape = JSON.stringify([curves.map((curve) => curve.name), label, log]);
  const data = () => {
    const xs = [...new Set(curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
    const place = new Map(xs.map((x, i) => [x, i]));
    const columns = curves.map((curve) => {
      const column = Array(xs.length).fill(undefined);
      curve.x.forEach((x, i) => { const y = curve.y[i]; column[place.get(x)] = y === null || (log && y <= 0) ? null : y; });
      return column;
    });
    return [xs, ...columns];
  };
  useEffect(() => {
    const axis = { stroke: value("--muted"), grid: { stroke: value("--rule"), width: 1 }, ticks: { stroke: value("--rule"), width: 1 }, font: "12px system-ui, sans-serif" };
    plot.current = new uPlot({
      width: frame.current.clientWidth, height, legend: { show: curves.length > 1 },
      scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
      axes: [{ ...axis, label: "iteration", labelSize: 20, labelFont: "12px system-ui, sans-serif" }, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => tick === null ? "" : short(tick)) }],
      series: [{ label: "iteration" }, ...curves.map((curve, i) => ({ label: curve.name, stroke: value(COLORS[i % COLORS.length]), width: 2, spanGaps: true, points: { show: curve.x.length < 3 }, value: (_, y) => number(y ?? null) }))],
    }, data(), frame.current);
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: frame.current.clientWidth, height }));
    resize.observe(frame.current);
    return () => { resize.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, [shape, theme]);
  useEffect(() => { plot.current?.setData(data()); }, [curves]);
  const last = curves.map((curve) => `${curve.name}: ${number(curve.y.at(-1) ?? null)}`).join(", ");
  return html`<figure class="curves"><figcaption>${label}</figcaption><div ref=${frame} role="img" aria-label="Curves of ${label}; at the end ${last}" /></figure>`;
}
