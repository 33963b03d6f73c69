// Play, pause, step, back; speed and seed; a slider over the records. Keys: space, left, right, home.
import { html, useEffect, useRef } from "/static/vendor/preact-htm.js";
import { Typed } from "/static/play/typed.js";

const SPEEDS = [[0, "fastest"], [1, "1 / s"], [2, "2 / s"], [4, "4 / s"], [8, "8 / s"], [30, "30 / s"]];
const ICONS = {
  play: "M6 4v16l14-8z", pause: "M6 4h4v16H6zM14 4h4v16h-4z", step: "M5 4v16l10-8zM17 4h3v16h-3z", back: "M19 4v16L9 12zM4 4h3v16H4z", first: "M20 4v16l-8-8zM12 4v16l-8-8z",
};
const Icon = ({ name }) => html`<svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"><path fill="currentColor" d=${ICONS[name]} /></svg>`;

export function Transport({ sessions, seed, speed, onSpeed, onSeed, onPaused }) {
  const { frame, records } = sessions[0], most = useRef(1);
  const all = (action, value) => sessions.forEach((one) => one.tell(action, value));
  const playing = sessions.some((one) => one.frame?.playing), iterates = frame?.iterates ?? true;
  const position = frame?.position ?? 0;
  most.current = records.length <= 1 ? Math.max(1, position) : Math.max(most.current, position);
  const done = frame?.finished && !playing;
  const stepped = useRef(false); // the address follows whoever steps: it restores what is seen
  const walk = (count) => { stepped.current = true; all("step", count); };
  const act = {
    toggle: () => { if (playing) { all("pause"); onPaused(position); } else { onPaused(undefined); all(done ? "step" : "play", done ? -(position - 1) || 1 : null); if (done) all("play"); } },
    step: () => walk(1), back: () => walk(-1), first: () => position > 1 && walk(1 - position),
  };
  useEffect(() => { if (stepped.current && !playing && position) { stepped.current = false; onPaused(position); } }, [position, playing]);
  const held = useRef(act);
  held.current = act;
  useEffect(() => {
    const press = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest?.("input, select, textarea, button, summary, a, [role=button]")) return;
      const name = { " ": "toggle", ArrowRight: "step", ArrowLeft: "back", Home: "first" }[event.key];
      if (name) { event.preventDefault(); held.current[name](); }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  const seek = (event) => { const to = Number(event.target.value); if (to !== position) walk(to - position); };
  return html`<div class="transport" role="toolbar" aria-label="Transport">
    ${iterates && html`<div class="buttons">
      <button onClick=${act.first} disabled=${position <= 1} aria-label="First record" title="First record (Home)"><${Icon} name="first" /></button>
      <button onClick=${act.back} disabled=${position <= 1} aria-label="Back one record" title="Back (←)"><${Icon} name="back" /></button>
      <button class="primary" onClick=${act.toggle} disabled=${!frame} aria-label=${playing ? "Pause" : "Play"} title="${playing ? "Pause" : "Play"} (space)"><${Icon} name=${playing ? "pause" : "play"} /></button>
      <button onClick=${act.step} disabled=${!frame || frame.finished} aria-label="Forward one record" title="Forward (→)"><${Icon} name="step" /></button></div>
      <${Typed} class="seek" type="range" min="1" max=${most.current} value=${position} onChange=${seek} disabled=${most.current < 2} aria-label="Record" />`}
    <output class="position">${iterates ? html`record <b>${position}</b>${done ? " · end" : ""}` : frame ? "fitted at once" : ""}</output>
    ${iterates && html`<label class="speed"><span class="aside">Speed</span><select value=${speed} onChange=${(event) => onSpeed(Number(event.target.value))}>${[...new Map([...SPEEDS, ...(SPEEDS.some(([v]) => v === speed) ? [] : [[speed, `${speed} / s`]])])].map(([value, text]) => html`<option value=${value}>${text}</option>`)}</select></label>`}
    <label class="seed">seed <${Typed} type="number" min="0" max="4294967295" value=${seed} onChange=${(event) => onSeed(Math.max(0, Math.floor(Number(event.target.value) || 0)))} /></label>
    <button onClick=${() => onSeed(seed + 1)} title="Another draw of the data and of chance" aria-label="Another seed">↻</button>
  </div>`;
}
