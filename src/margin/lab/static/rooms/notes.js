// The room of the notes: five tables of contents, sections, every statement with its verdict, and a search.
import { html, useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { address, Elsewhere, Equation, Findings, Loaded, Problem, SeedBar, Source, useCall, useKeys, useLoad, Verdict } from "./parts.js";
import { Picture } from "./pictures.js";

const rowAddress = (id) => `/notes/row/${id}`;
const sectionAddress = (number, key) => `/notes/${number}/${encodeURIComponent(key)}`;
const verdictOf = (verdicts, id) => {
  const known = verdicts?.[id] ?? [];
  return (known.find((one) => one.verdict === "fails") ?? known[0])?.verdict;
};

function Search({ query, navigate }) {
  const field = useRef(null);
  useKeys({ "/": () => field.current?.focus() });
  const change = (event) => navigate(address("/notes", { ...query, q: event.target.value }), { replace: true });
  return html`<form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
    <input ref=${field} type="search" value=${query.q ?? ""} onInput=${change} placeholder="Search 1,048 statements"
      aria-label="Search the statements of the notes" autocomplete="off" />
    <kbd aria-hidden="true">/</kbd>
  </form>`;
}

const PlayLinks = ({ models, most = 2 }) => models.slice(0, most).map((name) => html`<a key=${name} class="tag play" href="/play/${name}" aria-label="Play: ${name}"><span aria-hidden="true">▶</span> ${name}</a>`);

/** A statement in a list: its check runs here, each time with another seed. */
function RowCard({ row, verdict, level = 3 }) {
  const call = useCall();
  const [check, setCheck] = useState(null);
  const run = async () => { const facts = await call.run(`/rows/${row.id}/verify`, { seed: check ? check.seed + 1 : 0 }); if (facts) setCheck(facts); };
  return html`<article class="statement">
    <h3 role="heading" aria-level=${level}><a href=${rowAddress(row.id)}>${row.title}</a></h3>
    <p class="marks"><span class="tag">${row.kind}</span>
      ${row.corrected && html`<span class="tag amend">correction</span>`}
      ${row.experiment && html`<a class="tag" href="/gallery/${row.experiment}">picture</a>`}
      <${PlayLinks} models=${row.models} />
      <${Verdict} word=${check?.verdict ?? verdict} />
      <button class="pill" disabled=${call.busy} onClick=${run} aria-label="Check: ${row.title}">${call.busy ? `running, ${call.seconds} s` : check ? `seed ${check.seed + 1}` : "check"}</button></p>
    <${Equation} mathml=${row.equation} />
    <p>${row.statement}</p>
    ${row.slips.length > 0 && html`<ul class="slips">${row.slips.map((slip) => html`<li>${slip}</li>`)}</ul>`}
    <${Problem}>${call.problem}<//>
    ${check && html`<${Findings} findings=${check.findings} />`}
  </article>`;
}

function Found({ query }) {
  const found = useLoad(address("/rows", { q: query.q, area: query.area, kind: query.kind, corrected: query.corrected }));
  return html`<${Loaded} of=${found}>${(rows) => html`
    <p class="quiet" role="status">${rows.length === 60 ? "The best 60" : rows.length} statement${rows.length === 1 ? "" : "s"}${query.q && ` with “${query.q}”`}</p>
    <div class="statements">${rows.map((row) => html`<${RowCard} key=${row.id} row=${row} />`)}</div>`}<//>`;
}

function Counts({ of: { rows, corrected } }) {
  return html`<small>${rows} statement${rows === 1 ? "" : "s"}${corrected ? `, ${corrected} corrected` : ""}</small>`;
}

/** The chapters of notes; where they have few, the sections below these too. */
function chapters(sections) {
  const few = sections.filter((section) => section.level === 1).length < 5;
  return sections.filter((section) => section.level <= (few ? 2 : 1));
}

function Overview({ contents, query, navigate }) {
  const filters = { area: contents.areas.map((area) => area.name), kind: contents.kinds };
  const searching = query.q || query.area || query.kind || query.corrected;
  const set = (name) => (event) => navigate(address("/notes", { ...query, [name]: event.target.type === "checkbox" ? event.target.checked : event.target.value }), { replace: true });
  const checked = Object.keys(contents.verdicts).length;
  return html`
    <h1>The notes, statement by statement</h1>
    <p>${contents.rows.toLocaleString("en")} statements of five sets of notes. Each has code that runs and a check that can fail; where the notes are wrong
      (${contents.corrected} times) the correction comes with its counter-example. ${checked > 0 && `${checked} ${checked === 1 ? "was" : "were"} run here.`}</p>
    <${Search} query=${query} navigate=${navigate} />
    <div class="row filters">
      ${Object.entries(filters).map(([name, values]) => html`<label key=${name}>${name === "area" ? "Area" : "Kind"}${" "}
        <select value=${query[name] ?? ""} onChange=${set(name)}><option value="">all</option>${values.map((value) => html`<option value=${value}>${value}</option>`)}</select></label>`)}
      <label class="row"><input type="checkbox" checked=${query.corrected === "true"} onChange=${set("corrected")} /> only corrections</label>
    </div>
    ${searching ? html`<${Found} query=${query} />` : html`
      <div class="books">${contents.notes.map((notes) => html`
        <section class="card book" key=${notes.number}>
          <h2><a href="/notes/${notes.number}">${notes.title}</a></h2>
          <p class="quiet">${notes.edition}. <${Counts} of=${notes} /></p>
          <ol>${chapters(notes.sections).map((section) => html`
            <li><a class=${section.level > 1 ? "below" : ""} href=${sectionAddress(notes.number, section.key)}><span class="number">${section.number}</span>${section.title}</a></li>`)}</ol>
        </section>`)}
      </div>
      <h2>By area</h2>
      <ul class="areas">${contents.areas.map((area) => html`<li><a href="/notes/area/${area.name}">${area.name}</a> <small>${area.rows}</small></li>`)}</ul>`}`;
}

/** The table of contents beside a section; `open` is the section one reads. */
function Contents({ notes, open = "" }) {
  return html`<ol class="toc">${notes.sections.map((section) => html`
    <li key=${section.key} class="level-${section.level}">
      <a href=${sectionAddress(notes.number, section.key)} aria-current=${section.key === open ? "page" : null}>
        <span class="number">${section.number}</span><span>${section.title}</span></a>
      ${section.rows > 0 && html`<small>${section.rows}</small>`}
    </li>`)}</ol>`;
}

function Section({ number, section, contents, navigate }) {
  const page = useLoad(sectionAddress(number, section));
  const notes = contents.notes.find((each) => each.number === number);
  const near = (name) => page.value?.[name] && sectionAddress(number, page.value[name].key);
  useKeys({ ArrowLeft: () => near("previous") && navigate(near("previous")), ArrowRight: () => near("next") && navigate(near("next")) });
  if (!notes) return html`<${Problem}>There are no notes ${number}.<//>`;
  return html`<div class="reading">
    <nav class="side" aria-label="Contents of ${notes.title}">
      <p><a href="/notes">All notes</a></p><h2><a href="/notes/${number}">${notes.title}</a></h2><small>${notes.edition}</small>
      <${Contents} notes=${notes} open=${section} />
    </nav>
    <div>
      ${!section ? html`<h1>${notes.title}</h1><p class="quiet">${notes.edition}. <${Counts} of=${notes} /></p><${Contents} notes=${notes} />` : html`
      <${Loaded} of=${page}>${(value) => html`
        <p class="crumbs"><a href="/notes">Notes</a> / <a href="/notes/${number}">${notes.title}</a></p>
        <h1><span class="number">${value.section.number}</span>${value.section.title}</h1>
        ${value.parts.map((part, i) => html`<section key=${part.section.key}>
          ${i > 0 && html`<h2><a href=${sectionAddress(number, part.section.key)}><span class="number">${part.section.number}</span>${part.section.title}</a></h2>`}
          ${part.rows.length ? html`<div class="statements">${part.rows.map((row) => html`<${RowCard} key=${row.id} row=${row} verdict=${verdictOf(value.verdicts, row.id)} />`)}</div>`
            : i === 0 && value.parts.length === 1 && html`<p class="quiet">The notes have this heading and say nothing below it that could be run.</p>`}
        </section>`)}
        <${Near} previous=${near("previous")} next=${near("next")} before=${value.previous?.title} after=${value.next?.title} />`}<//>`}
    </div>
  </div>`;
}

const Near = ({ previous, next, before, after }) => html`<nav class="near" aria-label="Neighbors">
  ${previous ? html`<a href=${previous} rel="prev"><small>← previous</small>${before}</a>` : html`<span />`}
  ${next && html`<a href=${next} rel="next"><small>next →</small>${after}</a>`}</nav>`;

function Area({ area }) {
  const page = useLoad(`/areas/${encodeURIComponent(area)}`);
  return html`<p class="crumbs"><a href="/notes">Notes</a> / by area</p><h1>${area}</h1>
    <${Loaded} of=${page}>${(value) => html`<div class="statements">${value.rows.map((row) => html`
      <${RowCard} key=${row.id} row=${row} verdict=${verdictOf(value.verdicts, row.id)} level=${2} />`)}</div>`}<//>`;
}

function Check({ row, query, navigate }) {
  const call = useCall();
  const seed = Number(query.seed ?? 0);
  const [result, setResult] = useState(row.check);
  const setSeed = (value) => navigate(address(rowAddress(row.id), { seed: value || "" }), { replace: true });
  const run = async (value) => { const facts = await call.run(`/rows/${row.id}/verify`, { seed: value }); if (facts) setResult(facts); };
  // A claim takes a moment: its verdict is there when one opens it. One with an experiment waits for the button.
  useEffect(() => { if (!row.check && !row.experiment) run(seed); }, []);
  return html`<section class="card check" aria-label="Check">
    <h2>The check ${result && html`<${Verdict} word=${result.verdict} large />`}</h2>
    <${SeedBar} seed=${seed} setSeed=${setSeed} call=${call} run=${run} label=${result ? "Run again" : "Run the check"} />
    <${Problem}>${call.problem}<//>
    ${result ? html`<${Findings} findings=${result.findings} /><p class="quiet">Seed ${result.seed}, ${result.seconds.toFixed(2)} s.</p>`
      : !call.busy && html`<p class="quiet">Not run here yet${row.experiment && ": it runs an experiment, which may take a while"}.</p>`}
  </section>`;
}

function Row({ id, query, navigate }) {
  const page = useLoad(address(`/rows/${encodeURIComponent(id)}`, { seed: query.seed }));
  const row = page.value;
  useKeys({ ArrowLeft: () => row?.previous && navigate(rowAddress(row.previous)), ArrowRight: () => row?.next && navigate(rowAddress(row.next)) });
  if (row) document.title = `${row.title} · Margin lab`;
  return html`<${Loaded} of=${page}>${(row) => html`
    <p class="crumbs"><a href="/notes">Notes</a> / <a href="/notes/area/${row.area}">${row.area}</a></p>
    <div class="statement-page">
      <div>
        <h1>${row.title}</h1>
        <p class="marks"><span class="tag">${row.kind}</span>${row.corrected && html`<span class="tag amend">correction</span>`}<${PlayLinks} models=${row.models} /></p>
        <${Equation} mathml=${row.equation} />
        <p class="lead">${row.statement}</p>
        ${row.slips.length > 0 && html`<section class="remark"><h2>Where the notes are wrong</h2>
          <ul>${row.slips.map((slip) => html`<li>${slip}</li>`)}</ul></section>`}
        ${row.notation && html`<p class="quiet"><strong>Spelling and symbols.</strong> ${row.notation}</p>`}
        ${row.numbers && html`<p class="quiet"><strong>Numbers.</strong> ${row.numbers}</p>`}
        <${Check} key=${row.id} row=${row} query=${query} navigate=${navigate} />
        ${row.experiment && html`<section><h2>Picture</h2><${Picture} name=${row.experiment} eager=${false} />
          <p><a href="/gallery/${row.experiment}">The experiment <code>${row.experiment}</code></a></p></section>`}
        <h2>Code</h2>
        ${row.code.map((code, i) => html`<${Source} key=${code.path} code=${code} open=${i === 0} />`)}
        <${Elsewhere} python=${row.python.replace("seed=0", `seed=${Number(query.seed ?? 0)}`)} command=${`${row.command}${query.seed ? ` --seed ${query.seed}` : ""}`} />
      </div>
      <aside>
        <h2>In the notes</h2>
        <ul class="places">${row.places.map((place) => html`<li><a href=${sectionAddress(place.notes, place.section.key)}>${place.section.number} ${place.section.title}</a>
          <small>${place.title}, ${place.where}</small></li>`)}</ul>
        ${row.models.length > 0 && html`<h2>Play</h2><ul class="places">${row.models.map((name) => html`<li><a href="/play/${name}">${name}</a></li>`)}</ul>`}
        <p class="quiet"><a href=${rowAddress(row.id)}>Address of this statement</a></p>
      </aside>
    </div>
    <${Near} previous=${row.previous && rowAddress(row.previous)} next=${row.next && rowAddress(row.next)} before=${row.titles[row.previous]} after=${row.titles[row.next]} />`}<//>`;
}

export default function NotesRoom({ path, query, navigate }) {
  const [, , first = "", second = ""] = path.split("/").map(decodeURIComponent);
  const contents = useLoad("/notes");
  if (first === "row") return html`<${Row} key=${second} id=${second} query=${query} navigate=${navigate} />`;
  if (first === "area") return html`<${Area} area=${second} />`;
  return html`<${Loaded} of=${contents}>${(value) => first
    ? html`<${Section} number=${first} section=${second} contents=${value} navigate=${navigate} />`
    : html`<${Overview} contents=${value} query=${query} navigate=${navigate} />`}<//>`;
}
