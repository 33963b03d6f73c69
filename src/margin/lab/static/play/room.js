// The room Play: start screens and all methods, or one method on its stage.
import { html, useEffect, useState } from "/static/vendor/preact-htm.js";
import { get } from "/static/api.js";
import Screen from "/static/play/screen.js";
import { Glyph } from "/static/play/glyphs.js";

export default function Play({ path, query, navigate }) {
  const name = decodeURIComponent(path.split("/")[2] ?? "");
  return name ? html`<${Method} key=${name} name=${name} query=${query} navigate=${navigate} />` : html`<${Start} />`;
}

function Method({ name, query, navigate }) {
  const [facts, setFacts] = useState(null);
  const [problem, setProblem] = useState("");
  useEffect(() => { get(`/models/${encodeURIComponent(name)}`).then(setFacts, (refusal) => setProblem(refusal.message)); }, [name]);
  if (problem) return html`<p class="problem" role="alert">${problem} <a href="/play">All methods</a></p>`;
  return facts ? html`<${Screen} name=${facts.name} facts=${facts} query=${query} navigate=${navigate} />` : html`<p class="quiet opening" role="status">Opening…</p>`;
}

const address = ({ model, data, settings, speed, beside }) => {
  const query = new URLSearchParams(Object.entries({ data, set: settings.join(";"), beside: beside.join(";"), speed: speed || "" }).filter(([, value]) => value));
  return `/play/${model}${query.size ? `?${query}` : ""}`;
};

function Start() {
  const [presets, setPresets] = useState([]);
  const [models, setModels] = useState([]);
  const [sought, setSought] = useState("");
  const [problem, setProblem] = useState("");
  useEffect(() => { Promise.all([get("/presets"), get("/models")]).then(([a, b]) => { setPresets(a); setModels(b); }, (refusal) => setProblem(refusal.message)); }, []);
  const found = models.filter((model) => `${model.name} ${model.family} ${model.task} ${model.kind}`.includes(sought.trim().toLowerCase()));
  const families = [...new Set(found.map((model) => model.family))];
  return html`<div class="entrance">
    <h1>Watch a method learn</h1>
    <p class="lead">Every fit here can be played, paused, stepped and taken back, on data you can touch; and every screen gives the code that ends with the same bits.</p>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <ul class="presets">${presets.map((preset) => html`<li key=${preset.title}><a class="card" href=${address(preset)}><${Glyph} kind=${preset.kind} name=${preset.model} /><h2>${preset.title}</h2><p>${preset.sentence}</p></a></li>`)}</ul>
    <div class="row all"><h2 class="grow">All ${models.length} methods</h2><input type="search" placeholder="Search: name, family, task" aria-label="Search the methods" onInput=${(event) => setSought(event.target.value)} /></div>
    <div class="families">${families.map((family) => html`<section key=${family}><h3>${family}</h3><ul>${found.filter((model) => model.family === family).map((model) => html`<li><a href="/play/${model.name}">${model.name}</a></li>`)}</ul></section>`)}</div>
    ${models.length > 0 && !found.length && html`<p class="quiet">No method is called so.</p>`}
  </div>`;
}
