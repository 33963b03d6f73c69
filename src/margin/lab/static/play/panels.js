// Every kind of panel that a frame may hold.
import { html, useLayoutEffect, useRef } from "/static/vendor/preact-htm.js";
import Chart, { number } from "/static/play/chart.js";
import { unpack } from "/static/play/arrays.js";
import { classColor, colors } from "/static/play/colors.js";
import { Graph, Tree } from "/static/play/diagrams.js";
import { useTheme } from "/static/play/theme.js";

function Picture({ pixels, caption, tone, boxes, signed, classes }) {
  const canvas = useRef(null), theme = useTheme();
  useLayoutEffect(() => {
    const { shape: [rows, columns, channels = 1], values } = unpack(pixels), { paper, ink } = colors(), [plus, minus] = [classColor(0), classColor(1)];
    const node = canvas.current, image = new ImageData(columns, rows);
    node.width = columns; node.height = rows;
    for (let i = 0; i < rows * columns; i++) {
      for (let c = 0; c < 3; c++) {
        const v = values[i * channels + (channels > 1 ? c : 0)];
        if (classes) image.data[4 * i + c] = v ? classColor(v - 1)[c] : paper[c];
        else if (signed) image.data[4 * i + c] = paper[c] + ((v < 127.5 ? minus : plus)[c] - paper[c]) * Math.abs(v - 127.5) / 127.5;
        else image.data[4 * i + c] = channels > 1 ? v : paper[c] + (ink[c] - paper[c]) * v / 255;
      }
      image.data[4 * i + 3] = 255;
    }
    node.getContext("2d").putImageData(image, 0, 0);
  }, [pixels, theme]);
  const [rows, columns] = pixels.shape;
  return html`<figure class="pixels ${tone ?? ""}"><div class="pane"><canvas ref=${canvas} role="img" aria-label=${caption || "picture"} />
    ${(boxes ?? []).length > 0 && html`<svg viewBox="0 0 ${columns} ${rows}" aria-hidden="true">${boxes.map(([x, y, u, v]) => html`<rect x=${x} y=${y} width=${u - x} height=${v - y} />`)}</svg>`}</div>
    ${(caption || boxes?.length > 0) && html`<figcaption>${caption || boxes.map((box) => `${box[4]} ${box[5]}`).join(", ")}</figcaption>`}</figure>`;
}

const Images = ({ items, columns, tight }) => {
  const width = columns ?? Math.min(8, items.length);
  return html`<div class="images ${tight ? "tight" : ""}" style=${{ "--columns": width }}>${items.map((item, i) => html`<${Picture} key=${i} ...${item} />`)}</div>`;
};

function Matrix({ rows, columns, values, square, signed }) {
  const flat = values.flat().filter((v) => v !== null).map((v) => signed ? Math.abs(v) : v), low = Math.min(...flat, 0), high = Math.max(...flat, 1e-9);
  const shade = (v) => ({ "--part": `${Math.round(100 * ((signed ? Math.abs(v) : v) - low) / (high - low || 1))}%` });
  const named = columns.some((name) => name), few = columns.length <= 6 && !square;
  return html`<div class="scroll"><table class="matrix ${square ? "square" : ""} ${columns.length > 24 ? "dense" : columns.length <= 14 ? "large" : ""}">
    ${named && html`<thead><tr><td></td>${columns.map((name) => html`<th scope="col">${name === " " ? "␣" : name}</th>`)}</tr></thead>`}
    <tbody>${values.map((row, i) => html`<tr><th scope="row">${rows[i] === " " ? "␣" : rows[i]}</th>${row.map((v) => html`<td class=${signed && v < 0 ? "less" : ""} style=${shade(v)} title=${number(v ?? 0)}>${few ? number(v ?? 0) : ""}</td>`)}</tr>`)}</tbody></table></div>`;
}

function Bars({ items, most, colors: hues }) {
  const top = most ?? Math.max(...items.map(([, v]) => Math.abs(v)), 1e-12);
  return html`<dl class="bars">${items.map(([name, v], k) => html`<div key=${name} class=${hues && hues[k] >= 0 ? `k${hues[k] % 10}` : ""}><dt>${name}</dt><dd><span class=${v < 0 ? "less" : ""} style=${{ "--part": `${Math.min(100, 100 * Math.abs(v) / top)}%` }}></span><b>${number(v)}</b></dd></div>`)}</dl>`;
}

function Text({ lines, running, pairs, tagged, cut }) {
  return html`<div class="words ${running ? "running" : ""} ${pairs ? "pairs" : ""} ${tagged ? "tagged" : ""} ${cut ? "cut" : ""}">${lines.map((line) => html`<p>${line.map((word) => {
    const [said, weight = 0, note = ""] = Array.isArray(word) ? word : [word];
    return html`<span class="word ${weight < 0 ? "against" : ""}" style=${{ "--part": `${Math.round(100 * Math.abs(weight))}%` }}>${said}${tagged && note && html`<small>${note}</small>`}</span>${running || pairs || cut ? "" : " "}`;
  })}</p>`)}</div>`;
}

const KINDS = { images: Images, matrix: Matrix, bars: Bars, text: Text, tree: Tree, graph: Graph };

export function Panel({ panel, edit, onPick, onProbe, label }) {
  const Kind = KINDS[panel.panel];
  return html`<section class="panel ${panel.panel} ${panel.small ? "small" : ""} ${panel.tight ? "tight" : ""}">
    ${panel.title && html`<h3>${panel.title}</h3>`}
    ${panel.surface?.scale && html`<p class="scale"><span>${number(panel.surface.scale[0])}</span><i role="img" aria-label="scale of the colors"></i><span>${number(Number(panel.surface.scale[1].toPrecision(3)))}</span></p>`}
    ${panel.panel === "chart"
      ? html`<${Chart} panel=${panel} edit=${panel.points?.editable ? edit : null} onPick=${panel.pick ? onPick : null} onHover=${panel.hover ? onProbe : null} label=${label} />`
      : Kind ? html`<${Kind} ...${panel} onProbe=${onProbe} />` : null}
    ${panel.note && html`<p class="note quiet">${panel.note}</p>`}
    ${panel.classes && panel.classes.length > 1 && html`<p class="key">${panel.classes.map((name, k) => html`<span class="k${k % 10}">${name}</span>`)}</p>`}
  </section>`;
}
