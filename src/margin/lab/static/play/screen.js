// One method on its stage: data, settings, transport, records, code. The address holds all of it.
import { html, useEffect, useMemo, useRef, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/api.js";
import { Elsewhere, Prose } from "/static/rooms/parts.js";
import { Panel } from "/static/play/panels.js";
import { OwnTable, pointsAsText, pointsFromText, usePoints } from "/static/play/points.js";
import { Probe } from "/static/play/probes.js";
import { Records } from "/static/play/records.js";
import { useSession } from "/static/play/session.js";
import { Settings } from "/static/play/settings.js";
import { Transport } from "/static/play/transport.js";

const settingsOf = (text) => Object.fromEntries((text || "").split(";").filter(Boolean).map((part) => { const at = part.indexOf("="); return [part.slice(0, at), part.slice(at + 1)]; }));
const asText = (settings) => Object.entries(settings).map(([name, value]) => `${name}=${value}`).join(";");
const LONGEST = 9000; // characters of points that an address may hold
const NEAREST = 8; // statements of the notes that are shown at once
const rowLink = (row) => html`<li key=${row.id}><a href="/notes/row/${row.id}">${row.title}</a></li>`;

export default function Screen({ name, facts, query, navigate }) {
  const scene = facts.scene, data = scene.data.includes(query.data) ? query.data : scene.data[0];
  const drawable = scene.drawable.includes(data), view = scene.view[data];
  const seed = Math.max(0, Math.floor(Number(query.seed) || 0)), twins = query.beside !== undefined;
  const [points, setPoints] = useState(() => pointsFromText(query.points));
  const [draft, setDraft] = useState(null); // points while one drags: not yet in the address
  const [brush, setBrush] = useState(0);
  const [side, setSide] = useState("set");
  const probe = useRef(null);
  const chosen = { set: settingsOf(query.set), beside: settingsOf(query.beside) };
  const go = (change) => {
    const next = { ...query, ...change };
    const held = Object.entries(next).filter(([key, value]) => value !== undefined && value !== "" && value !== null || (key === "beside" && value === ""));
    navigate(`/play/${name}?${new URLSearchParams(held)}`, { replace: true });
  };
  const wish = (settings) => ({ model: name, data, seed, settings: Object.entries(settings).map(([key, value]) => `${key}=${value}`), ...((draft ?? points).length ? { points: draft ?? points } : {}) });
  const start = useMemo(() => ({ play: query.at === undefined, position: Math.max(1, Number(query.at) || 1), speed: Number(query.speed) || 0 }), []);
  const first = useSession(wish(chosen.set), { slot: "a", ...start });
  const second = useSession(twins ? wish(chosen.beside) : null, { slot: "b", ...start });
  const both = twins ? [first, second] : [first];
  const tell = (action, value) => both.forEach((one) => one.tell(action, value));
  const onProbe = (value) => { probe.current = value; tell("probe", value); };

  const commit = (list, last) => { if (last) { setDraft(null); setPoints(list); const text = pointsAsText(list); go({ points: text.length < LONGEST ? text : undefined, at: undefined }); } else setDraft(list); };
  const edit = usePoints(first.frame, points, brush, commit);
  const useSet = (value) => { edit.reset(); setDraft(null); setPoints([]); go({ data: value, points: undefined, at: undefined }); };
  const label = `${name} on ${data}, record ${first.frame?.position ?? 0}`;
  const { classes, points: { given } = {} } = first.frame?.panels.find((panel) => panel.classes && panel.points?.editable) ?? {};

  return html`<div class="screen kind-${scene.kind} ${twins ? "wide" : ""}">
    <header class="title"><p class="crumbs"><a href="/play">Play</a> / ${facts.family ?? "optimize"}</p><h1>${title(name)}</h1><${Summary} text=${facts.summary} equations=${facts.equations} /></header>
    <aside class="controls" aria-label="Settings">
      <div class="card">
        <h3>Data</h3>
        <div class="field set"><label for="data">set</label><select id="data" value=${points.length ? "" : data} onChange=${(event) => event.target.value && useSet(event.target.value)}>${points.length > 0 && html`<option value="">drawn by hand</option>`}${scene.data.map((one) => html`<option value=${one}>${one.replaceAll("_", " ")}</option>`)}</select></div>
        ${drawable && html`<p class="quiet">Drag points; click to add one, double click to delete one.</p>
          ${classes && html`<div class="brushes" role="radiogroup" aria-label="Class of new points">${[...new Set([...classes.keys(), classes.length])].slice(0, 5).concat(given ? [-1] : []).map((k) => html`<button class="brush ${k < 0 ? "free" : `k${k}`}" role="radio" aria-checked=${brush === k} aria-label=${k < 0 ? "no class" : `class ${classes[k] ?? `${k}, new`}`} onClick=${() => setBrush(k)}>${k < 0 ? "?" : classes[k] ?? "+"}</button>`)}</div>`}
          <div class="row"><${OwnTable} classes=${Boolean(classes)} onPoints=${(list) => { edit.reset(); commit(list, true); }} />${points.length > 0 && html`<button class="pill" onClick=${() => useSet(data)}>the set again</button>`}</div>`}
      </div>
      <div class="card">
        <div class="row"><h3 class="grow">Settings</h3><button class="pill" aria-pressed=${twins} onClick=${() => { go({ beside: twins ? undefined : query.set ?? "", at: undefined }); setSide("set"); }}>${twins ? "one stage" : "side by side"}</button></div>
        ${twins && html`<div class="tabs" role="tablist">${["set", "beside"].map((which, k) => html`<button role="tab" aria-selected=${side === which} onClick=${() => setSide(which)}>${"AB"[k]}</button>`)}</div>`}
        <${Settings} key=${side} facts=${facts} chosen=${chosen[side]} onChange=${(next) => go({ [side]: asText(next), at: undefined })} />
      </div>
    </aside>
    <div class="stages ${twins ? "twins" : ""}">
      <${Transport} sessions=${both} seed=${seed} speed=${Number(query.speed) || 0} onSpeed=${(value) => { tell("speed", value); go({ speed: value || undefined }); }} onSeed=${(value) => go({ seed: value || undefined, at: undefined })} onPaused=${(at) => go({ at })} />
      <${Probe} view=${view} onProbe=${onProbe} />
      <p class="guide">${scene.looks[data] && html`<b>${scene.looks[data]}</b> `}${scene.reading[data]}</p>
      ${both.map((one, k) => html`<div key=${k} class="stage" aria-busy=${!one.frame}>
        ${twins && html`<p class="which"><b>${"AB"[k]}</b> ${difference(chosen[k ? "beside" : "set"], chosen[k ? "set" : "beside"])}</p>`}
        ${one.refusal && html`<p class="problem" role="alert">${one.refusal}</p>`}
        ${one.problem && html`<p class="problem" role="alert">${one.problem} ${one.ended && html`<button onClick=${one.again}>Begin again</button>`}</p>`}
        ${one.frame ? html`<div class="panels">${one.frame.panels.map((panel, i) => html`<${Panel} key=${`${panel.panel}${i}`} panel=${panel} edit=${drawable ? edit : null} onPick=${onProbe} onProbe=${onProbe} label=${label} />`)}</div>` : !one.problem && !one.refusal && html`<p class="quiet opening" role="status">Opening…</p>`}
      </div>`)}
    </div>
    <aside class="beside" aria-label="Records and code">
      <${Records} records=${first.records} beside=${twins ? second.records : null} together=${scene.kind === "landscape"} />
      <${Code} session=${first} />
      ${facts.rows.length > 0 && html`<section class="card"><h3>In the notes</h3><ul class="rows">${facts.rows.slice(0, NEAREST).map(rowLink)}</ul>
        ${facts.rows.length > NEAREST && html`<details><summary>${facts.rows.length - NEAREST} more</summary><ul class="rows">${facts.rows.slice(NEAREST).map(rowLink)}</ul></details>`}</section>`}
    </aside>
  </div>`;
}

const NAMES = {
  cyclegan: "CycleGAN", kmeans: "k-means", "t-sne": "t-SNE", word2vec: "word2vec", glove: "GloVe", simclr: "SimCLR", "fast-ica": "FastICA", c45: "C4.5",
  "latent-dirichlet-allocation": "Latent Dirichlet allocation", "few-shot-learner": "Few-shot learner", "zero-shot": "Zero-shot learning", "hard-margin-svc": "Hard-margin SVC", "hist-gradient-boosting-classifier": "Histogram gradient boosting classifier", "hist-gradient-boosting-regressor": "Histogram gradient boosting regressor",
  "sparse-gaussian-process-regressor": "Sparse Gaussian process regressor", "k-neighbors-classifier": "k-neighbors classifier",
  "k-neighbors-regressor": "k-neighbors regressor", "adaboost-classifier": "AdaBoost classifier", "adaboost-regressor": "AdaBoost regressor", "sum-product-network": "Sum-product network", "self-training-classifier": "Self-training classifier",
};
const title = (name) => NAMES[name] ?? name.replaceAll("-", " ").replace(/^./, (letter) => letter.toUpperCase()).replace(/\b(svc|svr|pca|mds|umap|vae|gan|pinn|cnn|mlp|hmm|crf|hog|nb|ica|id3|c45|clip|ode)\b/gi, (word) => word.toUpperCase());

/** The first sentence, and the rest where one asks for it; equations on lines of their own stand in the notes. */
function Summary({ text, equations }) {
  const [first, ...rest] = (text || "").replace(/\.\. math::[\s\S]*?(?=\n\n\S|$)/g, "").trim().split("\n\n").filter((part) => !part.trim().startsWith(">>>"));
  return html`<${Prose} text=${first} equations=${equations} />${rest.join("").trim() && html`<details class="more"><summary>more about it</summary><${Prose} text=${rest.join("\n\n")} equations=${equations} /></details>`}`;
}

const difference = (own, other) => Object.entries(own).filter(([name, value]) => other[name] !== value).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ") || "as it is";

/** The exact Python of what is shown; it is asked for while somebody looks at it. */
function Code({ session }) {
  const [code, setCode] = useState(null);
  const [open, setOpen] = useState(false);
  const { frame, id } = session, still = frame && !frame.playing;
  useEffect(() => {
    if (!open || !id || !still) return undefined;
    let current = true;
    get(`/sessions/${id}/code`).then((found) => current && setCode(found), () => {});
    return () => { current = false; };
  }, [open, id, still, frame?.position, frame?.from]);
  return html`<section class="card code-card"><div class="row"><h3 class="grow">The same as code</h3><button class="pill" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "hide" : "show"}</button></div>
    ${open && (code ? html`<p class="quiet">Run anywhere, it ends with ${still ? "this record" : "the record at which you pause"}, bit for bit.${code.command && frame.iterates ? " The command trains to the last one." : ""}</p><${Elsewhere} python=${code.python} command=${code.command} open=${true} />` : html`<p class="quiet">${still ? "…" : "Pause to have the code of what you see."}</p>`)}</section>`;
}
