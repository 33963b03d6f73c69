// What the rooms Notes, Gallery, Compare and Runs are built from.
import { html, useCallback, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { get, post } from "/static/api.js";

/** What an address of the API answers: {value, problem, reload}; the last value stays while a new one is on its way. */
export function useLoad(address, every = 0) {
  const [state, setState] = useState({ value: null, problem: "", of: null });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!address) return undefined;
    let current = true;
    get(address).then(
      (value) => current && setState({ value, problem: "", of: address }),
      (refusal) => current && setState({ value: null, problem: refusal.message, of: address }),
    );
    return () => { current = false; };
  }, [address, turn]);
  useEffect(() => {
    const back = (event) => event.detail.lost || setTurn((n) => n + 1);
    addEventListener("margin:connection", back);
    return () => removeEventListener("margin:connection", back);
  }, []);
  useEffect(() => {
    if (!every) return undefined;
    const timer = setInterval(() => document.hidden || setTurn((n) => n + 1), every);
    return () => clearInterval(timer);
  }, [every]);
  const own = state.of === address;
  return { value: own ? state.value : null, problem: own ? state.problem : "", reload: () => setTurn((n) => n + 1), setValue: (value) => setState({ value, problem: "", of: address }) };
}

export const Waiting = ({ children = "Loading" }) => html`<p class="quiet waiting" role="status">${children}…</p>`;
export const Problem = ({ children }) => children ? html`<p class="problem" role="alert">${children}</p>` : null;

/** The page of a loaded address: waiting, its problem, or what `children` draws of it. */
export function Loaded({ of: { value, problem }, children }) {
  if (problem) return html`<${Problem}>${problem}<//>`;
  return value === null ? html`<${Waiting} />` : children(value);
}

/** Markup of an equation, made by the server from our own notes. */
export const Equation = ({ mathml }) =>
  mathml ? html`<div class="equation" dangerouslySetInnerHTML=${{ __html: mathml }} /> ` : null;

const SIGNS = { holds: "✓", corrected: "✎", fails: "✗" };
export const Verdict = ({ word, large = false }) =>
  word ? html`<span class="verdict ${word} ${large ? "large" : ""}"><span aria-hidden="true">${SIGNS[word] ?? "?"}</span> ${word}</span>` : null;

const TOKENS = /(#.*)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\b(def|class|return|if|elif|else|for|while|in|not|and|or|is|import|from|as|with|try|except|finally|raise|yield|lambda|pass|None|True|False|assert|break|continue|global|nonlocal|async|await)\b|\b(\d[\w.]*)\b|(@[\w.]+)/g;
const KINDS = ["comment", "string", "keyword", "number", "decorator"];

/** Python with its words told apart. */
export function Python({ text }) {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(TOKENS)) {
    parts.push(text.slice(last, match.index));
    parts.push(html`<span class="py-${KINDS[match.slice(1).findIndex((part) => part !== undefined)]}">${match[0]}</span>`);
    last = match.index + match[0].length;
  }
  return html`<code>${parts}${text.slice(last)}</code>`;
}

export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = () => navigator.clipboard?.writeText(text).then(() => { setDone(true); setTimeout(() => setDone(false), 1500); }, () => {});
  return html`<button class="copy" onClick=${copy}>${done ? "Copied" : label}</button>`;
}

/** The same, elsewhere: Python and the command that end with what this screen shows. */
export function Elsewhere({ python, command, open = false }) {
  return html`<details class="elsewhere" open=${open}>
    <summary>The same in Python${command ? " and as a command" : ""}</summary>
    ${python && html`<div class="code"><${Copy} text=${python} /><pre tabindex="0" aria-label="Python"><${Python} text=${python} /></pre></div>`}
    ${command && html`<div class="code"><${Copy} text=${command} /><pre tabindex="0" aria-label="Command"><code>${command}</code></pre></div>`}
  </details>`;
}

/** Source code as it stands in the package. */
export function Source({ code, open = false }) {
  const last = code.line + code.text.split("\n").length - 1;
  return html`<details class="source" open=${open}>
    <summary>${code.form && html`<span class="tag">${code.form}</span> `}<code>${code.path}</code> <small>${code.file}, lines ${code.line} to ${last}</small></summary>
    <div class="code"><${Copy} text=${code.text} /><pre tabindex="0"><${Python} text=${code.text} /></pre></div>
    ${code.omitted > 0 && html`<p class="quiet">${code.omitted} more lines are in the file.</p>`}
  </details>`;
}

let counted = 0;
/** A call that may take long: {run, stop, busy, seconds, problem}; `run(path, body)` gives its answer or null. */
export function useCall() {
  const [busy, setBusy] = useState(null);
  const [problem, setProblem] = useState("");
  const [seconds, setSeconds] = useState(0);
  const alive = useRef(true);
  useEffect(() => () => { alive.current = false; }, []);
  useEffect(() => {
    if (!busy) return undefined;
    const started = performance.now();
    setSeconds(0);
    const timer = setInterval(() => setSeconds(Math.floor((performance.now() - started) / 1000)), 1000);
    return () => clearInterval(timer);
  }, [busy]);
  const run = useCallback(async (path, body) => {
    const name = `${path.replace(/\W+/g, "-")}-${Date.now().toString(36)}-${counted++}`.slice(-80);
    setBusy(name); setProblem("");
    try {
      return await post(path, { ...body, name });
    } catch (refusal) {
      if (alive.current) setProblem(refusal.message);
      return null;
    } finally {
      if (alive.current) setBusy(null);
    }
  }, []);
  const stop = useCallback(() => busy && post(`/calls/${encodeURIComponent(busy)}/stop`).catch(() => {}), [busy]);
  return { run, stop, busy: Boolean(busy), seconds, problem };
}

export const Findings = ({ findings }) => html`<ul class="findings">
  ${findings.map((finding) => html`<li class=${finding.is_counterexample ? "counterexample" : ""}>
    ${finding.is_counterexample && html`<strong>Counter-example. </strong>`}${finding.words}</li>`)}
</ul>`;

/** A seed, and buttons that run with it, with the next one, and stop. */
export function SeedBar({ seed, setSeed, call, run, label = "Run the check", children = null }) {
  const change = (event) => setSeed(Math.min(4294967295, Math.max(0, Math.floor(Number(event.target.value) || 0))));
  return html`<div class="row seedbar">
    <label>Seed <input type="number" min="0" max="4294967295" step="1" value=${seed} onChange=${change} disabled=${call.busy} /></label>
    ${children}
    <button class="primary" onClick=${() => run(seed)} disabled=${call.busy}>${label}</button>
    <button onClick=${() => { setSeed(seed + 1); run(seed + 1); }} disabled=${call.busy}>Another seed</button>
    ${call.busy && html`<button onClick=${call.stop}>Stop</button><span class="quiet" role="status">running, ${call.seconds} s</span>`}
  </div>`;
}

/** Keys that a screen listens to while nobody types. */
export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const listen = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const act = latest.current[event.key];
      if (act) { event.preventDefault(); act(); }
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}

/** Text of a docstring: paragraphs, `code` and :math:`...` set apart. */
export function Prose({ text, equations = {} }) {
  const inline = (part) => part.split(/(``[^`]+``|:math:`[^`]+`|:\w+:`[^`]+`)/).map((piece) => {
    const tex = piece.match(/^:math:`([^`]+)`$/)?.[1];
    if (tex && equations[tex]) return html`<span dangerouslySetInnerHTML=${{ __html: equations[tex] }} />`;
    const code = piece.match(/^``([^`]+)``$/)?.[1] ?? piece.match(/^:\w+:`([^`]+)`$/)?.[1].replace(/^~(?:.*\.)?/, "");
    return code ? html`<code>${code}</code>` : piece;
  });
  return text.trim().split(/\n\s*\n/).map((paragraph) => html`<p>${inline(paragraph.replace(/\s+/g, " "))}</p>`);
}

export const number = (value) => value === null || value === undefined ? "" :
  typeof value !== "number" ? String(value) :
  Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3) :
  Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5)));

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1) return `${Math.max(1, Math.round(1000 * seconds))} ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function ago(epoch) {
  const seconds = Date.now() / 1000 - epoch;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(epoch * 1000).toISOString().slice(0, 10);
}

export const address = (path, query = {}) => {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return kept.length ? `${path}?${new URLSearchParams(kept)}` : path;
};
