// An input that keeps what is being typed or dragged while records go on arriving and the screen is drawn again.
import { html, useState } from "/static/vendor/preact-htm.js";

export function Typed({ value, onChange, ...rest }) {
  const [draft, setDraft] = useState(null);
  const done = (event) => { onChange(event); setDraft(null); };
  return html`<input ...${rest} value=${draft ?? value} onInput=${(event) => setDraft(event.target.value)} onChange=${done} />`;
}
