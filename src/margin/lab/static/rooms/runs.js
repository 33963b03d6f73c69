// The room of runs: all run folders, curves that grow, several runs in one chart, model card, download, predictions.
import { html, useEffect, useMemo, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/api.js";
import { address, ago, duration, Elsewhere, Loaded, number, Problem, useLoad } from "./parts.js";
import { QUIET } from "/static/play/records.js";
import { color, Curves } from "./chart.js";
import { Asking } from "./asking.js";

const Status = ({ word }) => html`<span class="status ${word}">${word}</span>`;
/** Names of records, those that tell most first; the number of an iteration or an epoch tells nothing. */
const telling = (names) => names.filter((name) => !/^(iteration|run)$|(^|_)epoch$/.test(name)).sort((a, b) => QUIET.test(a) - QUIET.test(b));
const runAddress = (run) => run.kind === "comparison" ? `/compare/${run.id}` : `/runs/${run.id}`;
const lastNumber = (run) => {
  const names = telling(Object.keys(run.last ?? {}).filter((name) => typeof run.last[name] === "number"));
  return names.length ? `${names[0].replaceAll("_", " ")} ${number(run.last[names[0]])}` : "";
};

function List({ listing, query, navigate }) {
  const chosen = new Set((query.with ?? "").split(",").filter(Boolean));
  const words = (query.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const shown = listing.runs.filter((run) => (!query.kind || run.kind === query.kind) && words.every((word) => `${run.id} ${run.model} ${run.data} ${run.status}`.toLowerCase().includes(word)));
  const kinds = [...new Set(listing.runs.map((run) => run.kind).filter(Boolean))];
  const [most, setMost] = useState(100);
  const toggle = (id) => { chosen.has(id) ? chosen.delete(id) : chosen.add(id); navigate(address("/runs", { ...query, with: [...chosen].join(",") }), { replace: true }); };
  const set = (name) => (event) => navigate(address("/runs", { ...query, [name]: event.target.value }), { replace: true });
  return html`<h1>Runs</h1>
    <p>Fits and comparisons in <code>${listing.folder}</code>, newest first. Choose several fits to see their curves in one chart.</p>
    ${listing.runs.length > 0 && html`<div class="row filters" role="search">
      <input type="search" value=${query.q ?? ""} onInput=${set("q")} placeholder="Search runs" aria-label="Search runs" />
      ${kinds.length > 1 && html`<label>Kind <select value=${query.kind ?? ""} onChange=${set("kind")}><option value="">all</option>${kinds.map((kind) => html`<option value=${kind}>${kind}</option>`)}</select></label>`}
      <span class="quiet" role="status">${shown.length} of ${listing.runs.length}</span>
      ${chosen.size > 0 && html`<a class="button primary" href=${address("/runs/side-by-side", { ids: [...chosen].join(",") })}>Show ${chosen.size} side by side</a>`}
    </div>`}
    ${listing.runs.length === 0 && html`<div class="card empty"><h2>No run yet</h2><p>A run is made by a comparison in the room <a href="/compare">Compare</a>, or by a command:</p>
      <pre>margin fit random-forest-classifier iris</pre><p>or by Python:</p><pre>import margin${"\n"}iris = margin.data.load("iris")${"\n"}model = margin.GradientBoostingClassifier(random_state=0)${"\n"}margin.fit(model, iris.X, iris.y, run="runs/first")</pre></div>`}
    ${shown.length > 0 && html`<div class="scroll"><table class="runs"><thead><tr><th scope="col"><span class="aside">side by side</span></th><th scope="col">run</th><th scope="col">model</th><th scope="col">data</th><th scope="col">status</th><th scope="col">last</th><th scope="col" class="n">time</th><th scope="col">changed</th></tr></thead>
      <tbody>${shown.slice(0, most).map((run) => html`<tr key=${run.id}>
        <td>${run.kind === "fit" && html`<input type="checkbox" aria-label="Show ${run.id} side by side" checked=${chosen.has(run.id)} onChange=${() => toggle(run.id)} />`}</td>
        <th scope="row"><a href=${runAddress(run)}>${run.id}</a></th><td>${run.model || run.kind}</td><td>${String(run.data ?? "").split("/").at(-1)}</td>
        <td><${Status} word=${run.status} />${run.problem && html` <small>${run.problem}</small>`}</td><td>${lastNumber(run)}</td><td class="n">${duration(run.seconds)}</td><td class="quiet when">${ago(run.changed)}</td></tr>`)}</tbody></table></div>
      ${shown.length > most && html`<p><button onClick=${() => setMost(most + 200)}>Show more</button></p>`}`}
    <${Elsewhere} command=${`ls ${listing.folder}`} python=${`import margin\nfrom pathlib import Path\nfrom margin.service.run_listing import list_runs\n\nlist_runs(Path("${listing.folder}"))`} />`;
}

/** A model card: headings, lists, tables and code of Markdown, as elements. */
function Card({ text }) {
  const inline = (part) => part.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((piece) => piece.startsWith("`") ? html`<code>${piece.slice(1, -1)}</code>` : piece.startsWith("**") ? html`<strong>${piece.slice(2, -2)}</strong>` : piece);
  const cells = (line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const blocks = [];
  const lines = text.replace(/^---\n[\s\S]*?\n---\n/, "").split("\n");
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i], take = (test) => { const taken = []; while (i < lines.length && test(lines[i])) taken.push(lines[i++]); i -= 1; return taken; };
    if (line.startsWith("```")) { i += 1; const code = take((each) => !each.startsWith("```")); i += 1; blocks.push(html`<pre>${code.join("\n")}</pre>`); }
    else if (/^#+ /.test(line)) blocks.push(html`<h3>${inline(line.replace(/^#+ /, ""))}</h3>`);
    else if (line.startsWith("|")) { const [head, , ...rows] = take((each) => each.startsWith("|")); blocks.push(html`<div class="scroll"><table><thead><tr>${cells(head).map((cell) => html`<th>${inline(cell)}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${cells(row).map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`); }
    else if (/^[-*] /.test(line)) blocks.push(html`<ul>${take((each) => /^[-*] /.test(each)).map((each) => html`<li>${inline(each.slice(2))}</li>`)}</ul>`);
    else if (line.trim()) blocks.push(html`<p>${inline(take((each) => each.trim() && !/^([#|]|[-*] |\`\`\`)/.test(each)).join(" "))}</p>`);
  }
  return html`<div class="card model-card">${blocks}</div>`;
}

/** The records of a run, asked for again every second while it runs. */
function useRecords(id, first) {
  const [records, setRecords] = useState(first);
  useEffect(() => setRecords(first), [first]);
  useEffect(() => {
    if (records?.status !== "running") return undefined;
    const timer = setInterval(() => document.hidden || get(`/runs/${id}/records`).then(setRecords, () => {}), 1000);
    return () => clearInterval(timer);
  }, [records?.status, id]);
  return records;
}

function Charts({ records }) {
  const [log, setLog] = useState(false);
  const names = telling(Object.keys(records.series));
  const curves = useMemo(() => Object.fromEntries(names.map((name) => [name, [{ name, x: records.iteration, y: records.series[name] }]])), [records]);
  if (records.problem) return html`<${Problem}>${records.problem}<//>`;
  if (!names.length) return html`<p class="quiet">This model does not iterate: it has no records.</p>`;
  return html`<p class="row"><label class="row"><input type="checkbox" checked=${log} onChange=${(event) => setLog(event.target.checked)} /> logarithmic</label><span class="quiet">${records.n_records.toLocaleString("en")} records</span></p>
    <div class="charts">${names.map((name) => html`<${Curves} key=${name} label=${name} curves=${curves[name]} log=${log} height=${220} />`)}</div>`;
}

function One({ id }) {
  const page = useLoad(`/runs/${encodeURIComponent(id)}`);
  const records = useRecords(id, page.value?.records);
  return html`<p class="crumbs"><a href="/runs">Runs</a></p><${Loaded} of=${page}>${(run) => html`
    <h1>${run.id} <${Status} word=${records?.status ?? run.status} /></h1>
    <p class="quiet">${[run.data ? `${run.model} on ${run.data}` : run.model, run.target && `target ${run.target}`, run.rows && `${run.rows.toLocaleString("en")} rows`, duration(run.seconds), ago(run.changed)].filter(Boolean).join(", ")}</p>
    <div class="run-page"><div>
      ${records && html`<${Charts} records=${records} />`}
      ${run.has_model && html`<section><h2>Ask the model</h2><${Asking} id=${run.id} folder=${run.python.match(/existing\('(.*)\/[^/]+'\)/)?.[1] ?? "runs"} /></section>`}
      ${run.card && html`<section><h2>Model card</h2><${Card} text=${run.card} /></section>`}
      </div><aside>
      ${run.has_model && html`<p><a class="button primary" href="/api/runs/${encodeURIComponent(run.id)}/model" download>Download the model</a><br /><small>safetensors: it holds numbers and can run nothing</small></p>`}
      <h2>Settings</h2><dl class="settings">${Object.entries(run.settings).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
      ${run.remarks.length > 0 && html`<h2>Remarks</h2><ul>${run.remarks.map((remark) => html`<li>${remark}</li>`)}</ul>`}
    </aside></div>
    <${Elsewhere} python=${run.python} command=${run.command} />`}<//>`;
}

function SideBySide({ query, navigate }) {
  const page = useLoad(address("/runs/side-by-side", { ids: query.ids ?? "" }), 2000);
  const [log, setLog] = useState(false);
  return html`<p class="crumbs"><a href=${address("/runs", { with: query.ids })}>Runs</a></p><h1>Side by side</h1><${Loaded} of=${page}>${({ folder, runs, differing }) => {
    const names = [...new Set(runs.flatMap((run) => Object.keys(run.records.series)))];
    const shown = names.includes(query.curve) ? query.curve : names.find((name) => /loss|objective|score/.test(name)) ?? names[0];
    const curves = runs.filter((run) => run.records.series[shown]).map((run) => ({ name: run.id, x: run.records.iteration, y: run.records.series[shown] }));
    return html`<div class="row filters"><label>Curve <select value=${shown} onChange=${(event) => navigate(address("/runs/side-by-side", { ...query, curve: event.target.value }), { replace: true })}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
        <label class="row"><input type="checkbox" checked=${log} onChange=${(event) => setLog(event.target.checked)} /> logarithmic</label></div>
      ${curves.length ? html`<${Curves} curves=${curves} label=${shown} log=${log} height=${380} />` : html`<p class="quiet">These runs have no records.</p>`}
      <h2>What differs</h2>
      <div class="scroll"><table><thead><tr><th scope="col">setting</th>${runs.map((run, i) => html`<th scope="col"><span class="dot" style=${{ background: color(curves.findIndex((curve) => curve.name === run.id) < 0 ? i : curves.findIndex((curve) => curve.name === run.id)) }} /><a href=${runAddress(run)}>${run.id}</a></th>`)}</tr></thead>
        <tbody>${Object.entries(differing).map(([name, values]) => html`<tr><th scope="row">${name}</th>${values.map((value) => html`<td>${value}</td>`)}</tr>`)}
        <tr><th scope="row">status</th>${runs.map((run) => html`<td><${Status} word=${run.status} /></td>`)}</tr><tr><th scope="row">time</th>${runs.map((run) => html`<td>${duration(run.seconds)}</td>`)}</tr>
        ${names.map((name) => html`<tr><th scope="row">last ${name}</th>${runs.map((run) => html`<td class="n">${number(run.records.series[name]?.at(-1) ?? null)}</td>`)}</tr>`)}</tbody></table></div>
      <${Elsewhere} python=${`import margin\n\nruns = [margin.Run.existing(f"${folder}/{name}") for name in ${JSON.stringify(runs.map((run) => run.id))}]\nrecords = {run.folder.name: run.metrics() for run in runs}`} />`;
  }}<//>`;
}

export default function RunsRoom({ path, query, navigate }) {
  const id = decodeURIComponent(path.split("/")[2] ?? "");
  const listing = useLoad(id ? null : "/runs", 3000);
  if (id === "side-by-side") return html`<${SideBySide} query=${query} navigate=${navigate} />`;
  if (id) return html`<${One} key=${id} id=${id} />`;
  return html`<${Loaded} of=${listing}>${(value) => html`<${List} listing=${value} query=${query} navigate=${navigate} />`}<//>`;
}
