// Points, lines, bands, surfaces and marks over a window of the plane, on a canvas.
import { html, useEffect, useLayoutEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { unpack } from "/static/play/arrays.js";
import { classColor, colors, css } from "/static/play/colors.js";

const EDGE = { left: 38, right: 10, top: 10, bottom: 24 }, BARE = { left: 8, right: 8, top: 8, bottom: 8 };
const REACH = 14; // pixels around a point within which it is taken
const EVERY = 60; // milliseconds between two looks at what is under the mouse
const STEP = 0.03; // of the window, by which an arrow key moves the cross

export default function Chart({ panel, edit, onPick, onHover, label }) {
  const canvas = useRef(null), view = useRef(null), hover = useRef({ at: 0, timer: 0 });
  const [cross, setCross] = useState(null); // where a keyboard is, in the units of the chart
  const [size, setSize] = useState(null);
  const [over, setOver] = useState(null);
  // Before the paint, not after it: a frame is drawn in the same turn in which it came.
  useLayoutEffect(() => {
    setSize(Math.round(canvas.current.parentElement.clientWidth));
    const watch = new ResizeObserver(([entry]) => setSize(Math.round(entry.contentRect.width)));
    watch.observe(canvas.current.parentElement);
    return () => watch.disconnect();
  }, []);
  const shown = edit?.points ? { ...panel, points: { ...panel.points, xy: edit.points.map((p) => [p[0], p[1]]), label: panel.points?.label && edit.points.map((p) => p[2] ?? 0), ring: edit.dragging ? null : panel.points?.ring, faint: edit.dragging ? null : panel.points?.faint } } : panel;
  useLayoutEffect(() => {
    if (!size) return undefined;
    let request = 0;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || !panel.movie;
    const paint = (now) => {
      view.current = draw(canvas.current, shown, size, still ? 1 : (now / 2600) % 1.35, cross);
      if (!still) request = requestAnimationFrame(paint);
    };
    paint(performance.now());
    const again = () => requestAnimationFrame(() => paint(performance.now()));
    addEventListener("margin:theme", again);
    return () => { cancelAnimationFrame(request); removeEventListener("margin:theme", again); };
  }, [shown, size, cross]);
  useEffect(() => () => clearTimeout(hover.current.timer), []);
  const look = onHover && ((place) => { // what was asked last, not more often than can be seen
    const h = hover.current;
    clearTimeout(h.timer);
    h.timer = setTimeout(() => { h.at = performance.now(); onHover(place); }, Math.max(0, h.at + EVERY - performance.now()));
  });
  const touched = edit || onPick || look;
  const handlers = touched ? { ...pointer(view, shown, edit, onPick, look, setOver), ...keyboard(view, shown, edit, onPick, look, cross, setCross) } : {};
  const told = `${label ?? panel.title ?? "chart"}${touched ? `. Arrow keys move a cross${onPick ? " and show what lies there" : ""}${edit ? "; Enter adds a point there, Delete removes the nearest" : ""}.` : ""}`;
  return html`<canvas ref=${canvas} class=${`chart ${edit ? "editable" : ""} ${over !== null ? "grabbing" : ""}`} role=${touched ? "application" : "img"} tabindex=${touched ? 0 : null} aria-label=${told} ...${handlers} />`;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** The same by keys: arrows move a cross, Enter adds a point where it is, Delete takes the nearest. */
function keyboard(view, panel, edit, onPick, look, cross, setCross) {
  const press = (event) => {
    // After a click the arrows are those of the transport; a cross is for whoever came by the keyboard.
    const byKeys = cross || event.currentTarget.matches(":focus-visible");
    if (!view.current || !byKeys || event.altKey || event.ctrlKey || event.metaKey) return;
    const [x0, x1, y0, y1] = view.current.window, [x, y] = cross ?? [(x0 + x1) / 2, (y0 + y1) / 2], way = ARROWS[event.key];
    if (way) {
      const [dx, dy] = cross ? way : [0, 0], clip = (v, low, high) => Math.min(Math.max(v, low), high);
      const place = [clip(x + dx * STEP * (x1 - x0), x0, x1), clip(y + dy * STEP * (y1 - y0), y0, y1)];
      setCross(place); onPick?.(place); look?.(place);
    } else if (event.key === "Enter" && cross && edit) edit.add(cross);
    else if ((event.key === "Delete" || event.key === "Backspace") && cross && edit) {
      const far = ([px, py]) => Math.hypot(view.current.x(px) - view.current.x(x), view.current.y(py) - view.current.y(y));
      const list = panel.points?.xy ?? [], nearest = list.reduce((best, p, i) => best < 0 || far(p) < far(list[best]) ? i : best, -1);
      if (nearest >= 0) edit.remove(nearest);
    } else return;
    event.preventDefault(); event.stopPropagation();
  };
  return { onKeyDown: press, onBlur: () => { if (cross) { setCross(null); look?.(null); } } };
}

/** Drag a point, click to add one, double click or Alt-click to delete one; `look` is told where the mouse is. */
function pointer(view, panel, edit, onPick, look, setOver) {
  const at = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = ([x, y]) => {
    let best = -1, least = REACH ** 2;
    (panel.points?.xy ?? []).forEach(([px, py], i) => {
      const far = (view.current.x(px) - x) ** 2 + (view.current.y(py) - y) ** 2;
      if (far < least) { best = i; least = far; }
    });
    return best;
  };
  const inside = ([x, y]) => view.current.inside(x, y);
  return {
    onPointerDown: (event) => {
      if (event.button || !view.current) return;
      const place = at(event);
      if (onPick) { if (inside(place)) onPick(view.current.back(...place)); return; }
      if (!edit) return;
      look?.(null);
      const taken = nearest(place);
      if (taken >= 0 && event.altKey) { edit.remove(taken); return; }
      event.currentTarget.setPointerCapture(event.pointerId);
      event.preventDefault();
      if (taken >= 0) { edit.take(taken); setOver(taken); } else if (inside(place)) edit.add(view.current.back(...place));
    },
    onPointerMove: (event) => {
      if (!view.current) return;
      const place = at(event);
      if (edit?.dragging) { edit.move(view.current.back(...place)); return; }
      if (edit) event.currentTarget.style.cursor = nearest(place) >= 0 ? "grab" : "crosshair";
      if (event.pointerType === "mouse") look?.(inside(place) ? view.current.back(...place) : null);
    },
    onPointerLeave: () => look?.(null),
    onPointerUp: () => { setOver(null); edit?.drop(); },
    onPointerCancel: () => { setOver(null); edit?.drop(); },
    onDblClick: (event) => { const taken = nearest(at(event)); if (edit && taken >= 0) edit.remove(taken); },
  };
}

function draw(canvas, panel, width, time, cross) {
  const ratio = devicePixelRatio || 1, edge = panel.bare ? BARE : EDGE;
  let [x0, x1, y0, y1] = panel.window;
  const across = width - edge.left - edge.right;
  let high = Math.min(across * (panel.axes && !panel.square ? 0.62 : 0.82), Math.max(260, innerHeight * 0.56), 600);
  if (panel.equal) {
    const scale = Math.max((x1 - x0) / across, (y1 - y0) / high), cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
    [x0, x1, y0, y1] = [cx - scale * across / 2, cx + scale * across / 2, cy - scale * high / 2, cy + scale * high / 2];
  }
  const height = Math.round(high + edge.top + edge.bottom);
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
  const view = {
    x: (v) => edge.left + (v - x0) / (x1 - x0) * across,
    y: (v) => edge.top + (y1 - v) / (y1 - y0) * high,
    back: (px, py) => [x0 + (px - edge.left) / across * (x1 - x0), y1 - (py - edge.top) / high * (y1 - y0)],
    inside: (px, py) => px >= edge.left && px <= edge.left + across && py >= edge.top && py <= edge.top + high,
    box: [edge.left, edge.top, across, high], window: [x0, x1, y0, y1],
  };
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, width, height);
  if (!panel.bare) ticks(pen, view, panel.axes);
  pen.save();
  pen.beginPath(); pen.rect(...view.box); pen.clip();
  if (panel.surface) surface(pen, view, panel.surface, panel.window);
  if (panel.contour) contours(pen, view, panel.contour, panel.window);
  if (panel.band) band(pen, view, panel.band);
  if (panel.residuals) residuals(pen, view, panel.residuals);
  if (panel.arrows && panel.thin) arrows(pen, view, panel.arrows, true);
  for (const line of panel.lines ?? []) stroke(pen, view, line);
  if (panel.points) points(pen, view, panel.points);
  if (panel.made) made(pen, view, panel.movie ? moment(panel.movie, time) : panel.made, panel.made_color ?? 1);
  for (const ellipse of panel.ellipses ?? []) drawEllipse(pen, view, ellipse);
  if (panel.arrows && !panel.thin) arrows(pen, view, panel.arrows, false);
  if (panel.centers) centers(pen, view, panel.centers);
  if (cross) crosshair(pen, view, cross);
  pen.restore();
  labels(pen, view, panel.labels ?? []);
  for (const line of panel.lines ?? []) if (line.name) lineName(pen, view, line, panel.lines);
  return view;
}

function ticks(pen, { x, y, box, window: [x0, x1, y0, y1] }, axes) {
  const { muted, rule, sans } = colors();
  pen.font = `11px ${sans}`; pen.fillStyle = css(muted); pen.strokeStyle = css(rule); pen.lineWidth = 1;
  pen.textAlign = "center"; pen.textBaseline = "top";
  for (const v of nice(x0, x1, Math.max(2, box[2] / 90))) {
    pen.beginPath(); pen.moveTo(x(v), box[1]); pen.lineTo(x(v), box[1] + box[3]); pen.stroke();
    pen.fillText(number(v), x(v), box[1] + box[3] + 6);
  }
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (const v of nice(y0, y1, Math.max(2, box[3] / 70))) {
    pen.beginPath(); pen.moveTo(box[0], y(v)); pen.lineTo(box[0] + box[2], y(v)); pen.stroke();
    pen.fillText(number(v), box[0] - 6, y(v));
  }
  if (axes) { pen.textAlign = "right"; pen.fillText(axes[0], box[0] + box[2] - 4, box[1] + box[3] - 9); pen.textAlign = "left"; pen.fillText(axes[1], box[0] + 6, box[1] + 9); }
}

export function nice(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw) ?? raw, found = [];
  for (let v = Math.ceil(low / step) * step; v <= high && found.length < 40; v += step) found.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return found;
}

export const number = (v) => !Number.isFinite(v) ? "–" : (v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3) ? v.toExponential(1) : `${Number(v.toPrecision(4))}`);

function surface(pen, view, layer, [x0, x1, y0, y1]) {
  const field = unpack(layer.heat ?? layer.class), [rows, columns] = field.shape;
  const strength = layer.strength && unpack(layer.strength).values;
  const image = new ImageData(columns, rows), { ink, paper } = colors(), gray = layer.tone === "gray";
  for (let i = 0; i < rows * columns; i++) {
    const color = gray ? ink : classColor(field.values[i]), part = gray ? 0.4 * field.values[i] / 255 : strength && 0.06 + 0.34 * strength[i] / 255;
    const mixed = layer.heat && !gray ? heat(field.values[i] / 255) : paper.map((v, c) => v + part * (color[c] - v));
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = mixed[c];
    image.data[4 * i + 3] = 255;
  }
  const small = new OffscreenCanvas(columns, rows);
  small.getContext("2d").putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = columns > 12;
  pen.imageSmoothingQuality = "high";
  const left = view.x(x0), top = view.y(y1);
  pen.drawImage(small, left, top, view.x(x1) - left, view.y(y0) - top);
}

/** The color of a part from 0 to 1 of a scale. */
function heat(part) {
  const { accent, paper } = colors();
  return paper.map((v, c) => v + 0.85 * part ** 0.8 * (accent[c] - v));
}

/** Lines of equal value through a grid: for each cell, the segment between the crossings on its edges. */
function contours(pen, view, { values: packed, levels, thin }, [x0, x1, y0, y1]) {
  const { shape: [rows, columns], values } = unpack(packed), { ink } = colors();
  const px = (j) => view.x(x0 + (x1 - x0) * (j + 0.5) / columns), py = (i) => view.y(y1 - (y1 - y0) * (i + 0.5) / rows);
  for (const level of levels) {
    pen.beginPath();
    for (let i = 0; i + 1 < rows; i++) for (let j = 0; j + 1 < columns; j++) {
      const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]], cut = [];
      corners.forEach(([a, b], k) => {
        const [c, d] = corners[(k + 1) % 4], u = values[a * columns + b] - level, v = values[c * columns + d] - level;
        if ((u < 0) !== (v < 0)) { const t = u / (u - v); cut.push([px(b + t * (d - b)), py(a + t * (c - a))]); }
      });
      for (let k = 0; k + 1 < cut.length; k += 2) { pen.moveTo(...cut[k]); pen.lineTo(...cut[k + 1]); }
    }
    pen.setLineDash(level === 0 || thin ? [] : [5, 5]);
    pen.strokeStyle = css(ink, thin ? 0.16 : level === 0 ? 0.85 : 0.5); pen.lineWidth = thin ? 1 : level === 0 ? 1.8 : 1.2;
    pen.stroke();
  }
  pen.setLineDash([]);
}

function band(pen, view, { x, low, high, color = 0 }) {
  pen.beginPath();
  x.forEach((v, i) => pen.lineTo(view.x(v), view.y(high[i])));
  for (let i = x.length - 1; i >= 0; i--) pen.lineTo(view.x(x[i]), view.y(low[i]));
  pen.closePath();
  pen.fillStyle = css(classColor(color), 0.16);
  pen.fill();
}

function residuals(pen, view, rows) {
  pen.beginPath();
  for (const [x, y, said] of rows) { pen.moveTo(view.x(x), view.y(y)); pen.lineTo(view.x(x), view.y(said)); }
  pen.strokeStyle = css(colors().muted, 0.45); pen.lineWidth = 1; pen.stroke();
}

function crosshair(pen, view, [x, y]) {
  const px = view.x(x), py = view.y(y), [left, top, across, high] = view.box;
  pen.beginPath(); pen.moveTo(left, py); pen.lineTo(left + across, py); pen.moveTo(px, top); pen.lineTo(px, top + high);
  pen.strokeStyle = css(colors().ink, 0.6); pen.lineWidth = 1; pen.stroke();
}

function stroke(pen, view, { xy, color = 0, dash, head, thin }) {
  pen.beginPath();
  for (const [x, y] of xy) pen.lineTo(view.x(x), view.y(y));
  pen.setLineDash(dash ? [4, 5] : []);
  pen.lineJoin = "round"; pen.lineWidth = dash || thin ? 1 : 2.2; pen.strokeStyle = css(dash ? colors().muted : classColor(color), thin ? 0.6 : 1); pen.stroke();
  pen.setLineDash([]);
  if (!head || !xy.length) return;
  const [x, y] = xy.at(-1);
  pen.beginPath(); pen.arc(view.x(x), view.y(y), 5.5, 0, 7);
  pen.fillStyle = css(classColor(color)); pen.fill(); pen.lineWidth = 2; pen.strokeStyle = css(colors().paper); pen.stroke();
}

function lineName(pen, view, line, all) {
  if (!line.xy.length) return;
  const [left, top, across] = view.box, k = all.indexOf(line);
  if (all.length < 4) { // a key in the corner: ends of lines may lie near each other
    const { sans, ink } = colors();
    pen.font = `12px ${sans}`; pen.textAlign = "left"; pen.textBaseline = "middle";
    const width = 150, x = left + across - width, y = top + 14 + 18 * k;
    pen.fillStyle = css(classColor(line.color ?? 0)); pen.fillRect(x, y - 1.5, 16, 3);
    pen.fillStyle = css(ink); pen.fillText(line.name, x + 22, y);
    return;
  }
  const [x, y] = line.xy.at(-1);
  tag(pen, view.x(x) + 12, view.y(y), line.name, classColor(line.color ?? 0));
}

function points(pen, view, { xy, label, ring, faded, faint }) {
  const { paper, ink, muted } = colors(), radius = faded ? 2.4 : xy.length > 250 ? 3 : 4.4, ringed = new Set(ring ?? []), pale = new Set(faint ?? []);
  xy.forEach(([x, y], i) => {
    const px = view.x(x), py = view.y(y), color = label ? classColor(label[i]) : faded ? muted : ink;
    pen.beginPath(); pen.arc(px, py, radius, 0, 7);
    pen.fillStyle = css(color, faded ? 0.5 : pale.has(i) ? 0.38 : 1); pen.fill();
    if (!faded && !pale.has(i)) { pen.lineWidth = 1.3; pen.strokeStyle = css(paper, 0.9); pen.stroke(); }
    if (ringed.has(i)) { pen.beginPath(); pen.arc(px, py, radius + 3.4, 0, 7); pen.lineWidth = 1.4; pen.strokeStyle = css(ink, 0.8); pen.stroke(); }
  });
}

function made(pen, view, xy, color) {
  pen.fillStyle = css(classColor(color), 0.75);
  for (const [x, y] of xy) { pen.beginPath(); pen.arc(view.x(x), view.y(y), 2.7, 0, 7); pen.fill(); }
}

/** Where the points of a movie are at a time from 0 to 1; beyond that it rests at its end. */
function moment(frames, time) {
  const at = Math.min(time, 1) * (frames.length - 1), k = Math.min(Math.floor(at), frames.length - 2), t = at - k;
  return frames[k].map(([x, y], i) => [x + t * (frames[k + 1][i][0] - x), y + t * (frames[k + 1][i][1] - y)]);
}

function drawEllipse(pen, view, { center: [cx, cy], axes: [a, b], color, weight }) {
  for (const scale of [1, 0.5]) {
    pen.beginPath();
    for (let k = 0; k <= 60; k++) {
      const c = scale * Math.cos(k * Math.PI / 30), s = scale * Math.sin(k * Math.PI / 30);
      pen.lineTo(view.x(cx + c * a[0] + s * b[0]), view.y(cy + c * a[1] + s * b[1]));
    }
    pen.lineWidth = 1.2 + 3 * weight; pen.strokeStyle = css(classColor(color), scale === 1 ? 0.95 : 0.45); pen.stroke();
  }
}

function arrows(pen, view, list, thin) {
  list.forEach(([x, y, u, v], k) => {
    const ax = view.x(x), ay = view.y(y), bx = view.x(u), by = view.y(v), angle = Math.atan2(by - ay, bx - ax), tip = thin ? 4 : 11;
    pen.strokeStyle = pen.fillStyle = css(thin ? colors().muted : classColor(k), thin ? 0.55 : 1); pen.lineWidth = thin ? 1 : 3;
    pen.beginPath(); pen.moveTo(ax, ay); pen.lineTo(bx, by); pen.stroke();
    pen.beginPath(); pen.moveTo(bx, by);
    for (const turn of [2.6, -2.6]) pen.lineTo(bx + tip * Math.cos(angle + turn), by + tip * Math.sin(angle + turn));
    pen.closePath(); pen.fill();
  });
}

function centers(pen, view, list) {
  const { paper, ink } = colors();
  list.forEach(([x, y], k) => {
    const px = view.x(x), py = Math.min(view.y(y), view.box[1] + view.box[3] - 7);
    pen.save(); pen.translate(px, py); pen.rotate(Math.PI / 4);
    pen.fillStyle = css(classColor(k)); pen.strokeStyle = css(paper); pen.lineWidth = 5;
    pen.beginPath(); pen.rect(-7, -7, 14, 14); pen.stroke(); pen.strokeStyle = css(ink); pen.lineWidth = 1.6; pen.fill(); pen.stroke();
    pen.restore();
  });
}

function tag(pen, x, y, text, color, dx = 8, dy = 0) {
  const { sans, paper, ink } = colors();
  pen.font = `12px ${sans}`; pen.textAlign = "left"; pen.textBaseline = "middle";
  pen.beginPath(); pen.arc(x, y, 4, 0, 7); pen.fillStyle = css(color); pen.fill();
  pen.lineWidth = 4; pen.strokeStyle = css(paper, 0.85); pen.strokeText(text, x + dx, y + dy);
  pen.fillStyle = css(ink); pen.fillText(text, x + dx, y + dy);
}

/** Names beside their points, each at the first of a few places where it covers none of the others. */
function labels(pen, view, list) {
  const high = 15, taken = [];
  pen.font = `12px ${colors().sans}`;
  for (const [x, y, name, color] of list) {
    const px = view.x(x), py = view.y(y), wide = pen.measureText(name).width, [left, , across] = view.box;
    const free = [0, 1, -1, 2, -2, 3, -3, 4, -4].flatMap((k) => [[8, k * high], [-8 - wide, k * high]]).find(([dx, dy]) =>
      px + dx >= left && px + dx + wide <= left + across && taken.every(([u, v, w]) => px + dx > u + w || px + dx + wide < u || Math.abs(py + dy - v) >= high));
    const [dx, dy] = free ?? [8, 0];
    taken.push([px + dx, py + dy, wide]);
    tag(pen, px, py, name, classColor(color), dx, dy);
  }
}
