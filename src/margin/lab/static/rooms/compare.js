// The room of comparisons: drop a file, see what its columns were taken for, choose, watch, stop, continue, read, predict.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { post, put, subscribe } from "/static/api.js";
import { address, ago, duration, Elsewhere, Loaded, Problem, useLoad, Waiting } from "./parts.js";
import { Asking } from "./asking.js";

function Start({ navigate }) {
  const tables = useLoad("/tables"), runs = useLoad("/runs");
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState("");
  const [over, setOver] = useState(false);
  const send = async (file) => {
    if (!file) return;
    setBusy(file.name); setProblem("");
    try { const table = await put(`/tables?name=${encodeURIComponent(file.name)}`, file); navigate(address("/compare/new", { table: table.id })); }
    catch (refusal) { setProblem(refusal.message); setBusy(""); }
  };
  const drop = (event) => { event.preventDefault(); setOver(false); send(event.dataTransfer.files[0]); };
  const comparisons = (runs.value?.runs ?? []).filter((run) => run.kind === "comparison");
  return html`<h1>Which model suits a table?</h1>
    <p>Every suitable model of the catalog is measured on your table, with intervals, cost, and the winner judged on rows it has not seen. Nothing leaves this machine.</p>
    <label class="drop ${over ? "over" : ""}" onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <input class="aside" type="file" onChange=${(event) => send(event.target.files[0])} />
      <strong>${busy ? `Sending ${busy}…` : "Drop a file here, or choose one"}</strong><small>CSV, Excel, Parquet, Arrow, JSON lines; also packed; up to 200 MB</small></label>
    <${Problem}>${problem || tables.problem}<//>
    <div class="start">
      <section><h2>Tables that were sent</h2>${tables.value?.tables.length ? html`<ul class="places">${tables.value.tables.map((table) => html`<li><a href=${address("/compare/new", { table: table.id })}>${table.name}</a><small>${(table.bytes / 1000).toLocaleString("en", { maximumFractionDigits: 0 })} kB, ${ago(table.changed)}</small></li>`)}</ul>` : html`<p class="quiet">None yet.</p>`}
        <h2>Sets to try</h2><ul class="areas">${["iris", "wine", "breast-cancer", "diabetes", "digits"].filter((name) => tables.value?.sets.includes(name)).map((name) => html`<li><a href=${address("/compare/new", { set: name })}>${name}</a></li>`)}</ul></section>
      <section><h2>Comparisons</h2>${comparisons.length ? html`<ul class="places">${comparisons.slice(0, 30).map((run) => html`<li><a href="/compare/${run.id}">${run.id}</a> <span class="status ${run.status}">${run.status}</span><small>${run.metric ?? ""}, ${run.rows?.toLocaleString("en")} rows, ${ago(run.changed)}</small></li>`)}</ul>` : html`<p class="quiet">None yet.</p>`}</section>
    </div>`;
}

const KINDS = ["number", "flag", "category", "text", "date", "identifier"];

function ColumnsTable({ profile, options, change }) {
  const kinds = options.kinds ?? {}, ignore = options.ignore ?? [];
  const setKind = (name, kind) => change({ kinds: kind ? { ...kinds, [name]: kind } : Object.fromEntries(Object.entries(kinds).filter(([other]) => other !== name)) });
  const toggle = (name) => change({ ignore: ignore.includes(name) ? ignore.filter((other) => other !== name) : [...ignore, name] });
  return html`<div class="scroll columns-scroll"><table class="columns"><thead><tr><th scope="col">column</th><th scope="col">taken for</th><th scope="col">use</th><th scope="col" class="n">missing</th><th scope="col" class="n">distinct</th><th scope="col">examples</th><th scope="col">remark</th></tr></thead>
    <tbody>${profile.columns.map((column) => { const target = column.name === profile.target; return html`<tr key=${column.name} class=${target ? "target" : column.used ? "" : "unused"}>
      <th scope="row">${column.name}</th>
      <td><select aria-label="Kind of ${column.name}" value=${kinds[column.name] ?? ""} onChange=${(event) => setKind(column.name, event.target.value)}><option value="">${column.kind}${kinds[column.name] ? "" : " (found)"}</option>${KINDS.filter((kind) => kind !== column.kind || kinds[column.name]).map((kind) => html`<option value=${kind}>${kind}</option>`)}</select></td>
      <td>${target ? html`<span class="tag amend">target</span>` : html`<input type="checkbox" aria-label="Use ${column.name}" checked=${!ignore.includes(column.name) && column.used} onChange=${() => toggle(column.name)} disabled=${!column.used && !ignore.includes(column.name)} />`}</td>
      <td class="n">${column.missing ? `${(100 * column.missing).toFixed(column.missing < 0.1 ? 1 : 0)} %` : ""}</td><td class="n">${column.distinct.toLocaleString("en")}</td>
      <td class="examples">${column.examples.slice(0, 3).join(", ")}</td><td class="quiet">${column.remark}</td></tr>`; })}</tbody></table></div>`;
}

const MAIN = ["target", "metric", "budget", "group", "time", "folds"], HIDDEN = ["kinds", "ignore", "generative"];
const COLUMN = ["target", "group", "time"];

/** One option as its declaration says: a choice, a column, a number, a switch, a list or a text. */
function Option({ option, value, columns, change }) {
  const schemas = option.schema.anyOf ?? [option.schema], given = value ?? "";
  const choices = schemas.flatMap((schema) => schema.enum ?? []), types = schemas.flatMap((schema) => schema.type ?? []);
  const usual = option.default === null || (Array.isArray(option.default) && !option.default.length) ? "default" : String(option.default);
  const put = (next) => change({ [option.name]: next === "" ? undefined : next });
  let control;
  if (COLUMN.includes(option.name)) control = html`<select name=${option.name} value=${given} onChange=${(event) => put(event.target.value)}><option value="">${option.name === "target" ? "choose" : "none"}</option>${columns.map((name) => html`<option value=${name}>${name}</option>`)}</select>`;
  else if (choices.length) control = html`<select name=${option.name} value=${given} onChange=${(event) => put(event.target.value)}><option value="">${usual}</option>${choices.filter((choice) => choice !== option.default).map((choice) => html`<option value=${choice}>${choice}</option>`)}</select>`;
  else if (types.includes("boolean")) control = html`<select name=${option.name} value=${String(given)} onChange=${(event) => put(event.target.value === "" ? "" : event.target.value === "true")}><option value="">${usual}</option><option value="true">yes</option><option value="false">no</option></select>`;
  else if (types.includes("array")) control = html`<input name=${option.name} value=${(value ?? []).join(", ")} placeholder=${usual} onChange=${(event) => put(event.target.value.split(",").map((part) => part.trim()).filter(Boolean).length ? event.target.value.split(",").map((part) => part.trim()).filter(Boolean) : "")} />`;
  else if (types.includes("integer") || (types.includes("number") && !types.includes("string"))) control = html`<input name=${option.name} type="number" step=${types.includes("integer") ? 1 : "any"} min=${schemas[0].minimum} value=${given} placeholder=${usual} onChange=${(event) => put(event.target.value === "" ? "" : Number(event.target.value))} />`;
  else control = html`<input name=${option.name} value=${given} placeholder=${usual} onChange=${(event) => put(event.target.value.trim())} />`;
  return html`<label class="option" title=${option.sentence}><span>${option.name.replaceAll("_", " ")}</span>${control}<small>${option.sentence}</small></label>`;
}

function New({ query, navigate }) {
  const options = JSON.parse(query.options ?? "{}");
  const declared = useLoad("/comparisons/options");
  const [profile, setProfile] = useState(null);
  const [code, setCode] = useState(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const where = query.table ? `/tables/${query.table}` : `/sets/${encodeURIComponent(query.set ?? "")}`;
  const asked = JSON.stringify([where, options.target, options.kinds, options.ignore]);
  useEffect(() => {
    let current = true;
    setProblem("");
    post(`${where}/profile`, { target: options.target ?? null, kinds: options.kinds ?? {}, ignore: options.ignore ?? [] })
      .then((value) => current && setProfile(value), (refusal) => current && setProblem(refusal.message));
    return () => { current = false; };
  }, [asked]);
  const source = { table: query.table ?? "", set: query.set ?? "" };
  useEffect(() => {
    let current = true;
    post("/comparisons/code", { ...source, options }).then((value) => current && setCode(value), (refusal) => current && (setCode(null), setProblem(refusal.message)));
    return () => { current = false; };
  }, [query.options, query.table, query.set]);
  const change = (changes) => {
    const next = Object.fromEntries(Object.entries({ ...options, ...changes }).filter(([, value]) => value !== undefined && !(typeof value === "object" && Object.keys(value).length === 0)));
    navigate(address("/compare/new", { table: query.table, set: query.set, options: Object.keys(next).length ? JSON.stringify(next) : "" }), { replace: true });
  };
  const begin = async () => {
    setBusy(true); setProblem("");
    try { navigate(`/compare/${(await post("/comparisons", { ...source, options })).id}`); } catch (refusal) { setProblem(refusal.message); setBusy(false); }
  };
  const columns = profile?.columns.map((column) => column.name) ?? [];
  const shown = (declared.value ?? []).filter((option) => !HIDDEN.includes(option.name));
  const line = (option) => html`<${Option} key=${option.name} option=${option} value=${options[option.name] ?? (option.name === "target" ? profile?.target : undefined)} columns=${columns} change=${change} />`;
  return html`<p class="crumbs"><a href="/compare">Compare</a></p><h1>${query.set ?? profile?.name ?? "A new comparison"}</h1>
    <${Problem}>${problem || declared.problem}<//>
    ${!profile ? !problem && html`<${Waiting}>Reading the table<//>` : html`
      <p class="quiet">${profile.rows.toLocaleString("en")} rows, ${profile.columns.length} columns${profile.target ? `, ${profile.task}` : ""}</p>
      <section><h2>Options</h2><div class="options">${shown.filter((option) => MAIN.includes(option.name)).map(line)}</div>
        <details><summary>More options</summary><div class="options">${shown.filter((option) => !MAIN.includes(option.name)).map(line)}</div></details>
        <p class="row"><button class="primary" onClick=${begin} disabled=${busy || !profile.target || problem}>Compare</button>${!profile.target && html`<span class="quiet">Choose the column to predict.</span>`}</p></section>
      ${profile.remarks.length > 0 && html`<section class="remark"><h2>What to look at</h2><ul>${profile.remarks.map((remark) => html`<li>${remark}</li>`)}</ul></section>`}
      <section><h2>Columns</h2><${ColumnsTable} profile=${profile} options=${options} change=${change} /></section>
      ${code && html`<${Elsewhere} python=${code.python} command=${code.command} />`}`}`;
}

const score = (value) => value === null || value === undefined ? "" : Math.abs(value) < 100 ? value.toFixed(4) : value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10000 ? 1 : 0 });

function Interval({ row, low, high }) {
  if (row.mean === null || high <= low) return null;
  // What lies beyond the scale of the best is an arrow: a dot at the end would tell of a place where it is not.
  const beyond = row.mean < low ? "M8 3 1 8l7 5z" : row.mean > high ? "M132 3l7 5-7 5z" : "";
  if (beyond) return html`<svg class="interval-plot" viewBox="0 0 140 16" role="img" aria-label="beyond this scale"><path class="dot" d=${beyond} /></svg>`;
  const at = (value) => 4 + 132 * (Math.min(Math.max(value, low), high) - low) / (high - low);
  return html`<svg class="interval-plot" viewBox="0 0 140 16" role="img" aria-label="from ${score(row.low)} to ${score(row.high)}">
    ${row.low !== null && html`<line class="whisker" x1=${at(row.low)} x2=${at(row.high)} y1="8" y2="8" />`}<circle class="dot" cx=${at(row.mean)} cy="8" r="4" /></svg>`;
}

function Board({ board }) {
  const ranked = board.board.filter((row) => row.mean !== null && row.model !== "baseline");
  const ends = ranked.slice(0, 15).flatMap((row) => [row.low ?? row.mean, row.high ?? row.mean]);
  const low = Math.min(...ends), high = Math.max(...ends);
  return html`<div class="scroll"><table class="board"><thead><tr><th scope="col" class="n"></th><th scope="col">model</th><th scope="col" class="n">${board.metric} ${board.greater_is_better ? "↑" : "↓"}</th><th scope="col">95 % interval</th><th scope="col" class="n">folds</th><th scope="col" class="n">fit</th><th scope="col" class="n">predict</th></tr></thead>
    <tbody>${board.board.map((row, i) => html`<tr key=${row.model} class="${row.model === board.winner ? "best" : row.model === "baseline" ? "baseline" : ""}">
      <td class="n quiet">${row.mean === null ? "" : i + 1}</td><th scope="row">${row.model}${row.tied && html` <span class="tie" title="not distinguishable from the best" aria-label="not distinguishable from the best" />`}</th>
      ${row.status === "failed" || row.status === "left out" ? html`<td colspan="5" class="quiet">${row.status}: ${row.error}</td>` : html`
        <td class="n score">${score(row.mean)}</td><td><${Interval} row=${row} low=${low} high=${high} /></td><td class="n">${row.n_folds ?? row.folds ?? ""}</td><td class="n">${duration(row.fit_seconds)}</td><td class="n">${duration(row.predict_seconds)}</td>`}</tr>`)}</tbody></table></div>`;
}

function One({ id }) {
  const loaded = useLoad(`/comparisons/${encodeURIComponent(id)}`);
  const board = loaded.value;
  const [problem, setProblem] = useState("");
  const [asked, setAsked] = useState("");
  const [tab, setTab] = useState("board");
  useEffect(() => subscribe(`comparison:${id}`, (snapshot) => { loaded.setValue(snapshot); if (!snapshot.running) setAsked(""); }), [id]);
  const act = async (what) => { setProblem(""); setAsked(what); try { await post(`/comparisons/${encodeURIComponent(id)}/${what}`); if (what !== "stop") loaded.reload(); } catch (refusal) { setProblem(refusal.message); } if (what !== "stop") setAsked(""); };
  const tabs = { board: "Board", ...(board?.has_report ? { report: "Report" } : {}), ...(board && !board.running && board.winner ? { predict: "Predict" } : {}) };
  return html`<p class="crumbs"><a href="/compare">Compare</a></p><${Loaded} of=${loaded}>${(value) => html`
    <h1>${id} <span class="status ${value.running ? "running" : value.status}">${value.running ? "running" : value.status}</span></h1>
    <${Problem}>${problem || value.error}<//>
    ${value.data && html`<p class="quiet">${value.task} of ${value.target}, ${value.rows.toLocaleString("en")} rows, ${value.folds}</p>`}
    ${value.running && html`<div class="progress"><progress max=${value.trials?.total || 1} value=${value.trials?.done ?? 0} aria-label="Trials" /> <span role="status">${value.trials ? `${value.trials.done} of ${value.trials.total} trials` : "reading the table"}${value.stage ? `, ${value.stage}` : ""}${value.seconds_left ? `, about ${duration(value.seconds_left)} left` : ""}</span></div>`}
    <p class="row">${value.running ? html`<button onClick=${() => act("stop")}>${asked === "stop" ? "Stop at once" : "Stop"}</button>${asked === "stop" && html`<span class="quiet" role="status">stopping: the best so far is fitted to all rows</span>`}`
      : html`${value.status !== "finished" && html`<button class="primary" onClick=${() => act("continue")}>Continue</button>`}
        ${!value.has_report && value.winner && html`<button onClick=${() => act("report")} disabled=${asked === "report"}>${asked === "report" ? "Writing the report…" : "Write the report"}</button>`}`}</p>
    ${value.board?.length > 0 && html`
      <div class="room-tabs" role="tablist">${Object.entries(tabs).map(([name, title]) => html`<button role="tab" key=${name} aria-selected=${tab === name} onClick=${() => setTab(name)}>${title}</button>`)}</div>
      ${tab === "report" && value.has_report ? html`<iframe class="report" title="Report of ${id}" sandbox="allow-scripts allow-popups" src="/api/comparisons/${encodeURIComponent(id)}/report" />`
        : tab === "predict" ? html`<section><h2>Ask ${value.winner}</h2><${Asking} id=${id} folder=${value.folder.replace(/\/[^/]*$/, "")} /></section>`
        : html`${value.verdict.length > 0 && html`<ul class="verdicts">${value.verdict.map((sentence) => html`<li>${sentence}</li>`)}</ul>`}
          <${Board} board=${value} />
          ${value.remarks.length > 0 && html`<details open><summary>Remarks</summary><ul>${value.remarks.map((remark) => html`<li>${remark}</li>`)}</ul></details>`}`}
      <${Elsewhere} python=${`import margin\n\nresult = ${value.call}`} command=${value.command} />`}`}<//>`;
}

export default function CompareRoom({ path, query, navigate }) {
  const id = decodeURIComponent(path.split("/")[2] ?? "");
  if (id === "new") return html`<${New} query=${query} navigate=${navigate} />`;
  return id ? html`<${One} key=${id} id=${id} />` : html`<${Start} navigate=${navigate} />`;
}
