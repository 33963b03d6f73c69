// Pictures of experiments: drawn by the server when they come into sight, two at a time, and kept by it.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { post } from "/static/api.js";
import { address } from "./parts.js";

const queue = [];
let drawing = 0;

function next() {
  while (drawing < 2 && queue.length) {
    const wish = queue.pop(); // what came into sight last is what one looks at
    if (wish.cancelled) continue;
    drawing += 1;
    post(`/experiments/${wish.name}/draw`, { seed: 0, fast: true }).then(wish.resolve, wish.reject).finally(() => { drawing -= 1; next(); });
  }
}

function draw(name) {
  const wish = { name, cancelled: false };
  const promise = new Promise((resolve, reject) => { wish.resolve = resolve; wish.reject = reject; });
  queue.push(wish);
  next();
  return { promise, cancel: () => { wish.cancelled = true; } };
}

export const pictureAddress = (name, outcome) => address(`/api/experiments/${name}/picture.${outcome.pictures.includes("gif") ? "gif" : "png"}`,
  { seed: outcome.seed || "", fast: outcome.fast ? "" : "false", drawn: outcome.seconds });

/** One picture with seed 0; `known` is its outcome where the server had it, and it is drawn once it is in sight. */
export function Picture({ name, known = null, alt = "", about = "", onOutcome = null }) {
  const [outcome, setOutcome] = useState(known);
  const [problem, setProblem] = useState("");
  const frame = useRef(null);
  useEffect(() => {
    if (outcome) return undefined;
    let wish = null;
    const watch = new IntersectionObserver((entries) => {
      const visible = entries.some((entry) => entry.isIntersecting);
      if (!visible) { wish?.cancel(); wish = null; return; }
      if (wish) return;
      wish = draw(name);
      wish.promise.then((facts) => { setOutcome(facts); onOutcome?.(facts); watch.disconnect(); }, (refusal) => { setProblem(refusal.message); watch.disconnect(); });
    }, { rootMargin: "100px" });
    watch.observe(frame.current);
    return () => { watch.disconnect(); wish?.cancel(); };
  }, [outcome, name]);
  return html`<div class="picture" ref=${frame}>
    ${outcome ? html`<img src=${pictureAddress(name, outcome)} alt=${alt || `Picture of the experiment ${name}`} loading="lazy" width="1500" height="900" />`
      : problem ? html`<span class="quiet">${problem}</span>` : html`<span class="quiet">${about && html`${about}<br />`}<span class="waiting" role="status">drawing…</span></span>`}
  </div>`;
}
