// Trees and graphs, as SVG.
import { html } from "/static/vendor/preact-htm.js";

/** A tree whose leaves stand side by side and every node above the middle of its own. */
export function Tree({ nodes }) {
  const children = nodes.map(() => []), depth = nodes.map(() => 0), place = nodes.map(() => 0);
  nodes.forEach((node, i) => { if (node.parent >= 0) { children[node.parent].push(i); depth[i] = depth[node.parent] + 1; } });
  let leaves = 0;
  const lay = (i) => {
    if (!children[i].length) { place[i] = leaves++; return; }
    children[i].forEach(lay);
    place[i] = (place[children[i][0]] + place[children[i].at(-1)]) / 2;
  };
  if (nodes.length) lay(0);
  const across = 92, down = 74, width = Math.max(leaves, 1) * across, height = (Math.max(...depth, 0) + 1) * down;
  const x = (i) => (place[i] + 0.5) * across, y = (i) => depth[i] * down + 26;
  return html`<div class="scroll"><svg class="tree" viewBox="0 0 ${width} ${height}" style=${{ "--wide": `${width}px` }} role="img" aria-label="tree with ${nodes.length} nodes">
    ${nodes.map((node, i) => node.parent >= 0 && html`<g class="branch"><path d="M${x(node.parent)} ${y(node.parent) + 17} C${x(node.parent)} ${y(i) - 30} ${x(i)} ${y(i) - 46} ${x(i)} ${y(i) - 17}" /><text x=${(x(i) + x(node.parent)) / 2} y=${(y(i) + y(node.parent)) / 2 + 3}>${node.branch}</text></g>`)}
    ${nodes.map((node, i) => html`<g class=${node.leaf ? `leaf k${node.color % 10}` : "question"} transform="translate(${x(i)} ${y(i)})"><rect x="-42" y="-17" width="84" height="34" rx="8" /><text y="-2">${node.label}</text><text class="note" y="11">${node.note}</text></g>`)}
  </svg></div>`;
}

const NEXT = { undefined: 1, null: 1, 1: 0, 0: null };

/** Nodes and edges of the unit square; with evidence, a click sets a node to yes, to no, and free again. */
export function Graph({ nodes, edges, directed, evidence, new: added, wide, pick, picked, small, onProbe }) {
  const side = small ? 150 : evidence ? 390 : 460, r = small ? 6 : evidence ? 0 : 11;
  const px = (v) => 20 + v * (side - 40), py = (v) => side - 20 - v * (side - 40);
  const fixed = Object.fromEntries(nodes.flatMap((node, i) => (node.fixed ?? null) === null ? [] : [[i, node.fixed]]));
  const toggle = (i) => {
    const next = { ...fixed }, value = NEXT[fixed[i]];
    if (value === null) delete next[i]; else next[i] = value;
    onProbe?.(next);
  };
  return html`<svg class="graph ${evidence ? "belief" : ""} ${small ? "small" : ""}" viewBox="0 0 ${side} ${side}" role=${evidence || pick ? "group" : "img"} aria-label="graph with ${nodes.length} nodes">
    <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" /></marker></defs>
    ${edges.map(([a, b]) => html`<line class="edge" ...${ends(nodes[a].xy, nodes[b].xy, px, py, evidence ? BOX : null)} marker-end=${directed ? "url(#tip)" : null} />`)}
    ${(wide ?? []).map(([a, b, part]) => html`<line class="edge wide ${part < 0 ? "against" : ""}" ...${ends(nodes[a].xy, nodes[b].xy, px, py, null)} style=${{ "stroke-width": `${1 + 7 * Math.abs(part)}px` }} />`)}
    ${(added ?? []).map(([a, b, chance]) => html`<line class="edge new" ...${ends(nodes[a].xy, nodes[b].xy, px, py, null)}><title>${chance}</title></line>`)}
    ${nodes.map((node, i) => evidence
      ? html`<g class="fact ${node.fixed === 1 ? "yes" : node.fixed === 0 ? "no" : ""}" transform="translate(${px(node.xy[0])} ${py(node.xy[1])})" tabindex="0" role="button" aria-label="${node.label}: ${Math.round(100 * node.chance)} %${(node.fixed ?? null) === null ? "" : ", known"}"
          onClick=${() => toggle(i)} onKeyDown=${(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); toggle(i); } }}>
          <rect x="-62" y="-32" width="124" height="64" rx="12" /><rect class="full" x="-50" y="12" width="100" height="9" rx="4.5" /><rect class="part" x="-50" y="12" width=${100 * node.chance} height="9" rx="4.5" />
          <text y="-13">${node.label}</text><text class="chance" y="4">${(node.fixed ?? null) === null ? `${(100 * node.chance).toFixed(1)} %` : node.fixed ? "yes" : "no"}</text></g>`
      : html`<g class="node k${node.color % 10} ${node.ring ? "ring" : ""} ${node.wrong ? "wrong" : ""} ${picked === i ? "picked" : ""}" transform="translate(${px(node.xy[0])} ${py(node.xy[1])})" ...${pick ? choosing(i, picked, onProbe) : {}}><circle r=${r} style=${{ "--sure": node.sure }} />${!small && node.label && html`<text>${node.label}</text>`}</g>`)}
  </svg>`;
}

/** A click on a node asks about it, another one no more. */
function choosing(i, picked, onProbe) {
  const ask = () => onProbe?.(picked === i ? null : { node: i });
  return { tabindex: 0, role: "button", "aria-label": `node ${i}`, "aria-pressed": picked === i, onClick: ask, onKeyDown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); ask(); } } };
}

const BOX = [66, 36]; // from the middle of a node with a chance to its border, and a little more

/** A line between two nodes, from border to border where they are boxes. */
function ends([ax, ay], [bx, by], px, py, box) {
  const [x1, y1, x2, y2] = [px(ax), py(ay), px(bx), py(by)], far = Math.hypot(x2 - x1, y2 - y1) || 1, [dx, dy] = [(x2 - x1) / far, (y2 - y1) / far];
  const gap = box ? Math.min(box[0] / Math.abs(dx), box[1] / Math.abs(dy)) : 0;
  return { x1: x1 + gap * dx, y1: y1 + gap * dy, x2: x2 - gap * dx, y2: y2 - gap * dy };
}
