// A form made from the declared parameters.
import { html, useState } from "/static/vendor/preact-htm.js";
import { Typed } from "/static/play/typed.js";

const LEFT_OUT = new Set(["random_state", "verbose", "verbose_interval", "n_jobs", "warm_start", "copy_X", "copy_x", "cache_size", "record_seconds", "callback"]);

const LONG = 11; // letters of a choice beyond which it stands below its name
const asText = (value) => value === null || value === undefined ? "none" : Array.isArray(value) ? value.join(",") : `${value}`;

/** The choices of a schema that is nothing but choices (and perhaps none); null for every other. */
function choices(schema) {
  if (schema.enum) return schema.enum.map(asText);
  if (!schema.anyOf) return null;
  const parts = schema.anyOf.map((part) => part.type === "null" ? ["none"] : part.type === "object" || !Object.keys(part).length ? [] : choices(part));
  return parts.every(Boolean) ? parts.flat() : null;
}

function Field({ parameter, value, usual, onChange }) {
  const { name, schema, sentence, allowed } = parameter, list = choices(schema), id = `set-${name}`;
  const set = (event) => onChange(name, event.target.type === "checkbox" ? `${event.target.checked}` : event.target.value.trim());
  if (schema.type === "array" && schema.items?.enum) return html`<${Several} ...${{ parameter, value, usual, onChange }} />`;
  const numeric = schema.type === "integer" || schema.type === "number";
  const input = list
    ? html`<select id=${id} value=${value} onChange=${set}>${[...new Set([value, ...list])].map((choice) => html`<option value=${choice}>${choice}</option>`)}</select>`
    : schema.type === "boolean"
      ? html`<input id=${id} type="checkbox" checked=${value.toLowerCase() === "true"} onChange=${set} />`
      : html`<${Typed} id=${id} type=${numeric ? "number" : "text"} value=${value} step=${schema.type === "integer" ? 1 : "any"} min=${schema.minimum} onChange=${set} spellcheck="false" autocomplete="off" />`;
  const long = list && value.length > LONG;
  return html`<div class="field ${long ? "long" : ""} ${value !== usual ? "changed" : ""}"><label for=${id} title="${sentence} (${allowed})">${name.replaceAll("_", " ")}</label>${input}</div>`;
}

/** Some of several: a box for each. */
function Several({ parameter: { name, schema, sentence }, value, usual, onChange }) {
  const taken = value.split(",").filter(Boolean);
  const toggle = (choice) => { const next = schema.items.enum.filter((one) => (one === choice) !== taken.includes(one)); if (next.length >= (schema.minItems ?? 0)) onChange(name, next.join(",")); };
  return html`<fieldset class="several ${value !== usual ? "changed" : ""}"><legend title=${sentence}>${name.replaceAll("_", " ")}</legend>
    ${schema.items.enum.map((choice) => html`<label key=${choice}><input type="checkbox" checked=${taken.includes(choice)} onChange=${() => toggle(choice)} /> ${choice.replaceAll("_", " ")}</label>`)}</fieldset>`;
}

/** `chosen` are settings by name; `scene` those that the stage has by itself. */
export function Settings({ facts, chosen, onChange }) {
  const [all, setAll] = useState(false);
  const scene = facts.scene.params, usual = (p) => scene[p.name] ?? asText(p.default);
  const free = (p) => Object.keys(p.schema).length && p.schema.type !== "object" && (choices(p.schema)?.length ?? 2) > 1;
  const shown = facts.parameters.filter((p) => !LEFT_OUT.has(p.name) && !facts.scene.fixed.includes(p.name) && free(p));
  const first = shown.filter((p) => p.name in scene || p.name in chosen), rest = shown.filter((p) => !first.includes(p));
  const front = first.length >= 5 ? first : [...first, ...rest.slice(0, 5 - first.length)], back = shown.filter((p) => !front.includes(p));
  const change = (name, value) => {
    const next = { ...chosen };
    if (value === usual(shown.find((p) => p.name === name)) || value === "") delete next[name]; else next[name] = value;
    onChange(next);
  };
  const field = (p) => html`<${Field} key=${p.name} parameter=${p} value=${chosen[p.name] ?? usual(p)} usual=${usual(p)} onChange=${change} />`;
  return html`<div class="knobs">${front.map(field)}
    ${back.length > 0 && html`<button class="pill" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? "fewer" : `${back.length} more`} parameters</button>`}
    ${all && back.map(field)}
    ${Object.keys(chosen).length > 0 && html`<button class="pill" onClick=${() => onChange({})}>as it was</button>`}</div>`;
}
