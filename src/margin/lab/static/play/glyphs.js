// A small picture of every start screen, drawn by hand.
import { html } from "/static/vendor/preact-htm.js";

const dots = (list, color) => list.map(([x, y]) => html`<circle cx=${x} cy=${y} r="2.2" class=${color} />`);
const spiral = (turn) => Array.from({ length: 22 }, (_, i) => { const s = 0.12 + i / 24, a = 6.283 * (1.1 * s + turn); return [60 + 50 * s * Math.cos(a), 36 + 32 * s * Math.sin(a)]; });
const spread = (i) => Math.sqrt((i * 0.7548 + 0.3) % 1), turn = (i) => 6.283 * ((i * 0.5698 + 0.1) % 1);
const cloud = (cx, cy, rx, ry, n = 14) => Array.from({ length: n }, (_, i) => [cx + rx * spread(i) * Math.cos(turn(i)), cy + ry * spread(i) * Math.sin(turn(i))]);

const PICTURES = {
  "mlp-classifier": () => [dots(spiral(0), "k0"), dots(spiral(0.5), "k1")],
  kmeans: () => [dots(cloud(28, 24, 20, 16), "k0"), dots(cloud(88, 22, 20, 14), "k1"), dots(cloud(62, 54, 26, 12), "k2"), [[28, 24], [88, 22], [62, 54]].map(([x, y], k) => html`<rect x=${x - 4} y=${y - 4} width="8" height="8" class="k${k} mark" transform="rotate(45 ${x} ${y})" />`)],
  "gaussian-mixture": () => [dots(cloud(34, 40, 22, 16), "k0"), dots(cloud(84, 30, 24, 18), "k1"), html`<ellipse cx="34" cy="40" rx="26" ry="15" class="k0 line" transform="rotate(-24 34 40)" /><ellipse cx="84" cy="30" rx="28" ry="16" class="k1 line" transform="rotate(30 84 30)" />`],
  id3: () => html`<path class="ink line" d="M60 12 28 36M60 12v24M60 12l32 24M28 36 16 58M28 36l12 22M92 36 80 58M92 36l12 22" />${dots([[60, 12], [28, 36], [92, 36]], "ink")}${dots([[16, 58], [60, 36], [80, 58]], "k0")}${dots([[40, 58], [104, 58]], "k1")}`,
  "gradient-boosting-regressor": () => [dots([[10, 50], [20, 47], [30, 52], [42, 20], [52, 17], [60, 22], [72, 58], [82, 55], [94, 34], [108, 32]], "muted"), html`<path class="k0 line" d="M6 50h28V19h30v38h24V33h26" />`],
  lasso: () => [44, 0, 62, 30, 0, 12, 0].map((w, k) => html`<rect x="30" y=${6 + 9 * k} width=${w || 1.5} height="6" rx=${w ? 3 : 0} class=${w ? "k0" : "muted"} />`),
  svc: () => [dots(cloud(36, 20, 26, 14), "k0"), dots(cloud(84, 52, 26, 14), "k1"), html`<path class="ink line" d="M10 60C50 56 50 20 112 12" /><path class="ink line thin" d="M10 48C44 46 44 14 92 6M26 68C64 64 62 30 116 24" />`],
  "gaussian-process-regressor": () => html`<path class="k0 fill" d="M6 30C30 8 36 58 58 52S92 4 114 14v16C92 22 84 78 58 62S30 28 6 48z" /><path class="k0 line" d="M6 38C30 18 36 60 58 56S92 14 114 22" />${dots([[12, 34], [26, 32], [38, 48], [50, 56], [104, 20]], "ink")}`,
  "t-sne": () => [0, 1, 2, 3, 4, 5].map((k) => dots(cloud(22 + (k % 3) * 38, 20 + Math.floor(k / 3) * 32, 14, 12, 10), `k${k}`)),
  optimizers: () => html`${[34, 26, 18, 10].map((r) => html`<ellipse cx="78" cy="40" rx=${r * 1.7} ry=${r * 0.8} class="muted line thin" />`)}<path class="k0 line" d="M8 10 26 58 36 20 46 52 54 30 62 46 70 38" /><path class="k1 line" d="M8 10C30 70 58 60 78 40" />`,
  vae: () => Array.from({ length: 15 }, (_, i) => html`<rect x=${10 + (i % 5) * 21} y=${6 + Math.floor(i / 5) * 21} width="17" height="17" rx="3" class="ink" style=${{ opacity: 0.12 + 0.05 * i }} />`),
  "diffusion-model": () => [dots(cloud(24, 36, 22, 30, 22), "muted"), dots(Array.from({ length: 20 }, (_, i) => [90 + 22 * Math.cos(i * 0.314), 36 + 22 * Math.sin(i * 0.314)]), "k1"), html`<path class="ink line thin" d="M50 36h12m-4-4 4 4-4 4" />`],
  "language-model": () => html`<text x="8" y="24">the river runs</text><text x="8" y="44" class="k0">to the sea and</text><text x="8" y="64" class="muted">the wind wa▍</text>`,
  translator: () => html`${["two", "four"].join(" ").split("").map((letter, j) => html`<text x=${34 + 9.5 * j} y="15" class="muted">${letter}</text>`)}${["z", "w", "e", "i"].map((letter, i) => html`<text x="20" y=${28 + 11 * i}>${letter}</text>${Array.from({ length: 8 }, (_, j) => html`<rect x=${33 + 9.5 * j} y=${19 + 11 * i} width="8.5" height="10" rx="1.5" class="k0" style=${{ opacity: [0.9, 0.35, 0.1][Math.abs(j - [0, 1, 2, 2][i])] ?? 0.07 }} />`)}`)}`,
  "cnn-classifier": () => html`<path class="ink line fat" d="M24 18c12-10 28 0 20 14-4 8-14 14-20 22h26" />${[12, 20, 44, 16].map((w, k) => html`<rect x="68" y=${12 + 13 * k} width=${w} height="8" rx="4" class=${k === 2 ? "k0" : "muted"} />`)}`,
  "bayesian-network": () => html`<path class="ink line" d="M60 14 30 34M60 14l30 20M30 40l30 20M90 40 60 60" />${dots([[60, 12], [30, 36], [90, 36], [60, 60]].map(([x, y]) => [x, y]), "k0 big")}`,
  pinn: () => html`${[0, 1, 2, 3, 4].map((k) => html`<path class="k0 line" style=${{ opacity: 1 - 0.17 * k }} d="M${14 + k * 3} ${10 + k * 5}C40 ${30 + k * 12} 80 ${30 + k * 12} ${106 - k * 3} ${10 + k * 5}" />`)}<rect x="10" y="8" width="100" height="58" class="ink line thin" />`,
  "node-classifier": () => html`<path class="muted line thin" d="M20 20 40 40 24 56M40 40 54 20M40 40l34-6M74 34l22-18M74 34l26 20M74 34 66 58" />${dots([[20, 20], [40, 40], [24, 56], [54, 20]], "k0")}${dots([[74, 34], [96, 16], [100, 54], [66, 58]], "k1")}`,
};

export const Glyph = ({ name }) => html`<svg class="glyph" viewBox="0 0 120 72" aria-hidden="true">${PICTURES[name]?.()}</svg>`;
