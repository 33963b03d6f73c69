// What one can hold against a model: a sentence, a drawing.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { colors, css } from "/static/play/colors.js";
import { useTheme } from "/static/play/theme.js";

const SENTENCES = {
  writing: "A beginning for it to go on from", translation: "Numbers in English", tags: "A sentence to tag", opinion: "A sentence to judge",
  cloze: "A sentence with [MASK]", words: "A word", similarity: "A sentence about a picture",
};

export function Probe({ view, onProbe }) {
  if (SENTENCES[view]) return html`<${Sentence} label=${SENTENCES[view]} onProbe=${onProbe} />`;
  return view === "readers" ? html`<${Drawing} onProbe=${onProbe} />` : null;
}

function Sentence({ label, onProbe }) {
  const timer = useRef(0);
  const say = (event) => { const { value } = event.target; clearTimeout(timer.current); timer.current = setTimeout(() => onProbe(value.trim() || null), 250); };
  return html`<label class="probe"><span>${label}</span><input type="text" maxlength="60" onInput=${say} placeholder="yours" /></label>`;
}

const SIDE = 8, WIDE = 176;

/** A digit drawn with the mouse or a finger, in the eight by eight pixels of the set. */
function Drawing({ onProbe }) {
  const canvas = useRef(null), pixels = useRef(new Float32Array(SIDE * SIDE)), last = useRef(0);
  const [empty, setEmpty] = useState(true);
  const paint = () => {
    const pen = canvas.current.getContext("2d"), { ink, rule } = colors(), cell = WIDE / SIDE;
    pen.clearRect(0, 0, WIDE, WIDE);
    pixels.current.forEach((v, i) => { pen.fillStyle = css(ink, v); pen.fillRect((i % SIDE) * cell, Math.floor(i / SIDE) * cell, cell, cell); });
    pen.strokeStyle = css(rule);
    for (let k = 1; k < SIDE; k++) { pen.beginPath(); pen.moveTo(k * cell, 0); pen.lineTo(k * cell, WIDE); pen.moveTo(0, k * cell); pen.lineTo(WIDE, k * cell); pen.stroke(); }
  };
  useEffect(paint, [useTheme()]);
  const send = () => { last.current = performance.now(); onProbe(pixels.current.some((v) => v) ? [...pixels.current].map((v) => Math.round(v * 100) / 100) : null); };
  const draw = (event) => {
    if (!event.buttons) return;
    event.preventDefault();
    const box = canvas.current.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * SIDE - 0.5, y = (event.clientY - box.top) / box.height * SIDE - 0.5;
    pixels.current.forEach((v, i) => { const d = Math.hypot(i % SIDE - x, Math.floor(i / SIDE) - y); pixels.current[i] = Math.min(1, Math.max(v, 1.25 - d)); });
    setEmpty(false); paint();
    if (performance.now() - last.current > 120) send();
  };
  const clear = () => { pixels.current.fill(0); setEmpty(true); paint(); send(); };
  return html`<div class="drawing"><canvas ref=${canvas} width=${WIDE} height=${WIDE} role="img" aria-label="Draw a digit here" onPointerDown=${(event) => { event.currentTarget.setPointerCapture(event.pointerId); draw(event); }} onPointerMove=${draw} onPointerUp=${send} />
    <div><p class="quiet">Draw a digit.</p><button onClick=${clear} disabled=${empty}>Clear</button></div></div>`;
}
