// The room of experiments: all pictures, and each with its claim, verdict and code, run again with another seed or size.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { address, Elsewhere, Findings, Loaded, Problem, Prose, SeedBar, Source, useCall, useKeys, useLoad, Verdict } from "./parts.js";
import { Picture, pictureAddress } from "./pictures.js";

function Tile({ entry }) {
  const [outcome, setOutcome] = useState(entry.outcome);
  return html`<li class="tile"><a href="/gallery/${entry.name}">
    <${Picture} name=${entry.name} known=${entry.outcome} alt="" about=${entry.about} onOutcome=${setOutcome} />
    <h3>${entry.title}</h3></a>
    <p class="marks">${entry.areas.map((area) => html`<span class="tag">${area}</span>`)}<${Verdict} word=${outcome?.verdict} /></p></li>`;
}

function Wall({ entries, query, navigate }) {
  const areas = [...new Set(entries.flatMap((entry) => entry.areas))].sort();
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const shown = entries.filter((entry) => (!query.area || entry.areas.includes(query.area)) &&
    words.every((word) => `${entry.name} ${entry.title} ${entry.rows.join(" ")}`.toLowerCase().includes(word)));
  const set = (name) => (event) => navigate(address("/gallery", { ...query, [name]: event.target.value }), { replace: true });
  return html`<h1>Gallery</h1>
    <p>${entries.length} experiments: phenomena of the notes worth looking at. Each is run and judged by its own check; a picture is drawn here when you first look at it.</p>
    <div class="row filters" role="search">
      <input type="search" value=${query.q ?? ""} onInput=${set("q")} placeholder="Search experiments" aria-label="Search experiments" />
      <label>Area <select value=${query.area ?? ""} onChange=${set("area")}><option value="">all</option>${areas.map((area) => html`<option value=${area}>${area}</option>`)}</select></label>
      <span class="quiet" role="status">${shown.length} shown</span>
    </div>
    <ul class="wall">${shown.map((entry) => html`<${Tile} key=${entry.name} entry=${entry} />`)}</ul>`;
}

function Experiment({ name, query, navigate }) {
  const seed = Number(query.seed ?? 0), full = query.full === "true";
  const page = useLoad(address(`/experiments/${encodeURIComponent(name)}`, { seed: seed || "", fast: full ? "false" : "" }));
  const [outcome, setOutcome] = useState(null);
  const call = useCall();
  const go = (changes) => navigate(address(`/gallery/${name}`, { seed: seed || "", full: full || "", ...changes }), { replace: true });
  const run = async (value, again = true) => { const facts = await call.run(`/experiments/${name}/draw`, { seed: value, fast: !full, again }); if (facts) setOutcome(facts); };
  useEffect(() => { setOutcome(page.value?.outcome ?? null); if (page.value && !page.value.outcome && !full && !call.busy) run(seed, false); }, [page.value]);
  useKeys({ ArrowLeft: () => page.value?.previous && navigate(`/gallery/${page.value.previous}`), ArrowRight: () => page.value?.next && navigate(`/gallery/${page.value.next}`) });
  return html`<${Loaded} of=${page}>${(value) => html`
    <p class="crumbs"><a href="/gallery">Gallery</a>${value.areas.map((area) => html` / <a href=${address("/gallery", { area })}>${area}</a>`)}</p>
    <h1>${value.title} <${Verdict} word=${outcome?.verdict} large /></h1>
    <div class="experiment">
      <figure>
        <div class="picture">${outcome ? html`<img src=${pictureAddress(name, outcome)} alt="Picture of ${value.title}" width="1500" height="900" />`
          : html`<span class="quiet">${call.busy ? `running, ${call.seconds} s` : "not drawn yet"}</span>`}</div>
        <${SeedBar} seed=${seed} setSeed=${(next) => go({ seed: next || "" })} call=${call} run=${run} label=${outcome ? "Run again" : "Run"}>
          <label class="row"><input type="checkbox" checked=${full} onChange=${(event) => go({ full: event.target.checked || "" })} disabled=${call.busy} /> full size</label>
        <//>
        <${Problem}>${call.problem}<//>
      </figure>
      <div>
        <div class="prose"><${Prose} text=${value.text.split("\n").slice(1).join("\n") || value.text} equations=${value.equations} /></div>
        ${outcome && html`<section class="card"><h2>What the check found</h2><${Findings} findings=${outcome.findings} />
          <p class="quiet">Seed ${outcome.seed}${outcome.fast ? ", small size" : ", full size"}, ${outcome.seconds.toFixed(1)} s.</p></section>`}
        <h2>Statements</h2>
        <ul class="places">${value.rows.map((row) => html`<li><a href="/notes/row/${row.id}">${row.title}</a><small>${row.statement}</small></li>`)}</ul>
      </div>
    </div>
    <${Elsewhere} command=${`margin run ${name} --seed ${seed}${full ? "" : " --fast"}`} python=${`from pathlib import Path\nfrom margin.service.evidence import run_experiment\n\noutcome = run_experiment("${name}", Path("runs/experiments"), seed=${seed}, fast=${full ? "False" : "True"})\nprint(outcome.verdict, outcome.files)`} />
    <${Source} code=${value.code} />`}<//>`;
}

export default function GalleryRoom({ path, query, navigate }) {
  const name = decodeURIComponent(path.split("/")[2] ?? "");
  const listing = useLoad(name ? null : "/experiments");
  if (name) return html`<${Experiment} key=${name} name=${name} query=${query} navigate=${navigate} />`;
  return html`<${Loaded} of=${listing}>${(entries) => html`<${Wall} entries=${entries} query=${query} navigate=${navigate} />`}<//>`;
}
