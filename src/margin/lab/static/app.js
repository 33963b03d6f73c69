// The shell: rooms, addresses, theme. A room is a module whose default export is a component of {path, query, navigate}.
import { html, render, useEffect, useState, useErrorBoundary } from "/static/vendor/preact-htm.js";
import { get } from "/static/api.js";

const place = () => ({ path: location.pathname, query: Object.fromEntries(new URLSearchParams(location.search)) });

/** Go to an address inside the lab; `replace` keeps it out of the history, for changes that are not steps. */
export function navigate(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event("margin:place"));
  if (!replace) scrollTo(0, 0);
}

function usePlace() {
  const [now, setNow] = useState(place());
  useEffect(() => {
    const update = () => setNow(place());
    addEventListener("popstate", update);
    addEventListener("margin:place", update);
    return () => { removeEventListener("popstate", update); removeEventListener("margin:place", update); };
  }, []);
  return now;
}

/** Links of the lab change the room without loading the page again. */
function follow(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.origin !== location.origin || link.target || link.hasAttribute("download")) return;
  if (/^\/(static|api)\//.test(link.pathname)) return;
  if (link.pathname === location.pathname && link.search === location.search && link.hash) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
}

const THEMES = ["system", "light", "dark"];

function Theme() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "system");
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const change = () => {
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try { localStorage.setItem("margin-theme", next); } catch { /* it is forgotten with the tab */ }
    setTheme(next);
    dispatchEvent(new Event("margin:theme"));
  };
  return html`<button class="pill" onClick=${change} aria-label="Theme: ${theme}; change to ${next}">${theme}</button>`;
}

function Room({ module, ...props }) {
  const [loaded, setLoaded] = useState({});
  const [problem, setProblem] = useState(null);
  const [error, reset] = useErrorBoundary();
  useEffect(() => {
    let current = true;
    setProblem(null); reset();
    import(`/static/${module}`).then(
      (code) => current && setLoaded({ module, Component: code.default }),
      () => current && setProblem("This room could not be loaded."),
    );
    return () => { current = false; };
  }, [module]);
  if (error) console.error(error);
  if (problem || error) return html`<p class="problem" role="alert">${problem ?? `This room failed: ${error.message}`}</p>`;
  // The room that one leaves must not see the address of the next: it would ask for things that are not there.
  return loaded.module === module ? html`<${loaded.Component} ...${props} />` : html`<p class="quiet" aria-busy="true">…</p>`;
}

/** Whether the stream of events is broken. */
function useLost() {
  const [lost, setLost] = useState(false);
  useEffect(() => {
    const hear = (event) => setLost(event.detail.lost);
    addEventListener("margin:connection", hear);
    return () => removeEventListener("margin:connection", hear);
  }, []);
  return lost;
}

function Shell() {
  const { path, query } = usePlace(), lost = useLost();
  const [lab, setLab] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => { get("/lab").then(setLab, (refusal) => setProblem(refusal.message)); }, []);
  if (problem) return html`<p class="problem" role="alert">${problem}</p>`;
  if (!lab) return null;
  const name = path.split("/")[1] || lab.rooms.find((room) => room.name === "play")?.name || lab.rooms[0]?.name;
  const room = lab.rooms.find((candidate) => candidate.name === name);
  document.title = room ? `${room.title} · Margin lab` : "Margin lab";
  return html`
    <a class="skip" href="#room">Skip to the room</a>
    <header class="bar">
      <a class="brand" href="/"><img src="/static/icon.svg" alt="" width="22" height="22" />Margin</a>
      <nav aria-label="Rooms">
        ${lab.rooms.map((entry) => html`<a key=${entry.name} href="/${entry.name}" title=${entry.sentence}
          aria-current=${entry.name === name ? "page" : null}>${entry.title}</a>`)}
      </nav>
      <${Theme} />
    </header>
    ${lost && html`<p class="problem lost" role="alert">The lab does not answer. If it was started again, open the address that it printed: this page then goes on by itself.</p>`}
    <main id="room" class="room-${name}" tabindex="-1">
      ${room
        ? html`<${Room} module=${room.module} path=${path} query=${query} navigate=${navigate} />`
        : html`<p class="problem">There is no room here. ${" "}<a href="/">Begin at the start.</a></p>`}
    </main>
    <footer class="foot">Margin ${lab.version} · all of it from this machine · <a href="/api/docs">the API of this page</a></footer>`;
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("margin:theme")));
addEventListener("click", follow);
render(html`<${Shell} />`, document.getElementById("lab"));
