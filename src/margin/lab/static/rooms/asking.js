// A trained model, asked by a form, by a file, or for samples.
import { html, useState } from "/static/vendor/preact-htm.js";
import { get, post, put } from "/static/api.js";
import { Elsewhere, Loaded, number, Problem, useLoad } from "./parts.js";

export function Columns({ columns, most = 20 }) {
  const names = Object.keys(columns), rows = columns[names[0]]?.length ?? 0;
  return html`<div class="scroll"><table><thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${Array.from({ length: Math.min(rows, most) }, (_, i) => html`<tr>${names.map((name) => html`<td class=${typeof columns[name][i] === "number" ? "n" : ""}>${number(columns[name][i])}</td>`)}</tr>`)}</tbody></table></div>
    ${rows > most && html`<p class="quiet">${rows - most} more rows.</p>`}`;
}

function Form({ id, form }) {
  const [values, setValues] = useState(Object.fromEntries(form.fields.map((field) => [field.name, field.example])));
  const [answer, setAnswer] = useState(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const ask = async (event) => {
    event.preventDefault();
    setBusy(true); setProblem("");
    try {
      const predicted = await post(`/runs/${id}/predict`, { rows: [values] });
      const chances = form.can.includes("predict_proba") ? await post(`/runs/${id}/predict`, { rows: [values], proba: true }) : null;
      setAnswer({ predicted, chances });
    } catch (refusal) { setProblem(refusal.message); setAnswer(null); }
    setBusy(false);
  };
  return html`<form onSubmit=${ask}>
    <div class="fields">${form.fields.map((field) => html`<label key=${field.name}><span>${field.name} <small>${field.kind}</small></span>
      <input value=${values[field.name]} onInput=${(event) => setValues({ ...values, [field.name]: event.target.value })} autocomplete="off" /></label>`)}</div>
    <p class="row"><button class="primary" disabled=${busy}>Predict</button>${busy && html`<span class="quiet" role="status">asking the model…</span>`}
      <span class="quiet">An empty field is a missing value.</span></p>
    <${Problem}>${problem}<//>
    ${answer && html`<div class="card answer" role="status"><p class="lead">${Object.entries(answer.predicted).map(([name, column]) => `${name === "prediction" ? "" : `${name}: `}${number(column[0])}`).join(", ")}</p>
      ${answer.chances && html`<ul class="chances">${Object.entries(answer.chances).sort((a, b) => b[1][0] - a[1][0]).slice(0, 12).map(([name, [chance]]) => html`
        <li><span>${name}</span><meter min="0" max="1" value=${chance}>${chance}</meter><span class="n">${(100 * chance).toFixed(1)} %</span></li>`)}</ul>`}</div>`}
  </form>`;
}

function FileAsking({ id, form }) {
  const [problem, setProblem] = useState("");
  const [ready, setReady] = useState(null);
  const [busy, setBusy] = useState(false);
  const send = async (event) => {
    const file = event.target.files[0];
    if (!file) return;
    setBusy(true); setProblem(""); setReady(null);
    try {
      const table = await put(`/tables?name=${encodeURIComponent(file.name)}`, file);
      await get(`/runs/${id}/predictions.csv?table=${table.id}`);
      setReady({ table, name: file.name });
    } catch (refusal) { setProblem(refusal.message); }
    setBusy(false);
  };
  return html`<div><p><label class="button">Choose a file of new rows<input class="aside" type="file" onChange=${send} /></label>${busy && html` <span class="quiet" role="status">predicting…</span>`}</p>
    <${Problem}>${problem}<//>
    ${ready && html`<p role="status">Predictions for ${ready.name}: <a class="button" href="/api/runs/${id}/predictions.csv?table=${ready.table.id}" download>predictions.csv</a>
      ${form.can.includes("predict_proba") && html` <a class="button" href="/api/runs/${id}/predictions.csv?table=${ready.table.id}&proba=true" download>probabilities.csv</a>`}</p>`}</div>`;
}

function Samples({ id }) {
  const [seed, setSeed] = useState(0);
  const [columns, setColumns] = useState(null);
  const [problem, setProblem] = useState("");
  const draw = async () => { try { setColumns(await post(`/runs/${id}/sample`, { n: 10, seed })); setProblem(""); } catch (refusal) { setProblem(refusal.message); } };
  return html`<section><h3>Samples</h3><p class="row"><label>Seed <input type="number" min="0" value=${seed} onInput=${(event) => setSeed(Math.max(0, Math.floor(Number(event.target.value) || 0)))} /></label>
    <button onClick=${draw}>Draw ten</button></p><${Problem}>${problem}<//>${columns && html`<${Columns} columns=${columns} />`}</section>`;
}

/** All ways to ask the model of a run. */
export function Asking({ id, folder }) {
  const form = useLoad(`/runs/${id}/form`);
  const path = `${folder}/${id}`;
  return html`<${Loaded} of=${form}>${(value) => html`
    ${value.can.includes("predict") && value.fields.length > 0 && html`<${Form} id=${id} form=${value} />`}
    ${value.can.includes("predict") && html`<${FileAsking} id=${id} form=${value} />`}
    ${value.can.includes("sample") && html`<${Samples} id=${id} />`}
    ${value.can.length === 0 && html`<p class="quiet">${value.model} neither predicts nor draws samples.</p>`}
    <${Elsewhere} command=${value.can.includes("predict") ? `margin predict ${path} new.csv` : value.can.includes("sample") ? `margin sample ${path}` : ""}
      python=${`import margin\n\nmodel = margin.Run.existing("${path}").model()\n${value.can.includes("predict") ? "model.predict(new_rows)  # a data frame with the columns above" : "model.sample(10, random_state=0)"}`} />`}<//>`;
}
