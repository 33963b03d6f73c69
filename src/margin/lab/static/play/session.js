// One session of the server as a page sees it: its records, its last frame, and what it can be told.
import { useEffect, useRef, useState } from "/static/vendor/preact-htm.js";
import { del, get, post, subscribe } from "/static/api.js";

const EMPTY = { records: [], frame: null, problem: "", refusal: "", ended: false };

/** A session for `wish`; another wish begins another fit in the same process. `slot` names it over a reload.
 * `problem` is what went wrong in the fit; `refusal` what the server would not do, while the fit before goes on. */
export function useSession(wish, { slot, play, position, speed }) {
  const [state, setState] = useState(EMPTY);
  const held = useRef({ id: null, wish: null, key: null, opened: null, shown: null, opening: false, stop: null, gone: false, from: null }), h = held.current;
  h.wish = wish;
  h.key = wish && JSON.stringify(wish);
  h.frame = state.frame;

  const hear = (event) => setState((old) => {
    if (event.type === "problem") return { ...old, problem: event.error, ended: Boolean(event.ended), frame: old.frame && { ...old.frame, playing: false } };
    if (event.type !== "frame") return old;
    if (event.from > old.records.length) { refresh(); return old; }
    return { ...old, records: old.records.slice(0, event.from).concat(event.records), frame: event, problem: "", ended: false };
  });
  const refresh = () => get(`/sessions/${h.id}`).then(({ records, last }) => {
    if (last.type === "frame") setState((old) => ({ ...old, records, frame: last }));
  }, () => {});
  const refused = (refusal) => setState((old) => ({ ...old, refusal: refusal.message }));
  const accepted = () => setState((old) => ({ ...old, refusal: "" }));

  const begin = async () => {
    const { key, wish } = h, how = h.from ?? (h.shown ? { play: true } : { play, position });
    h.from = null;
    const kept = await reattach(slot, key).catch(() => null), id = kept?.id ?? (await post("/sessions", { ...wish, ...how })).id;
    if (h.gone) { del(`/sessions/${id}`).catch(() => {}); return; }
    h.id = id;
    h.stop = subscribe(`session-${id}`, hear);
    if (speed) tell("speed", speed);
    if (kept && !how.play && kept.position !== how.position) tell("step", how.position - kept.position); // the address says where
    remember(slot, id, h.shown = key);
  };
  const reopen = async () => {
    const { id, key, wish } = h;
    try {
      await post(`/sessions/${id}/control`, { action: "open", wish: { ...wish, play: true } });
    } catch (refusal) {
      if (refusal.status !== 404) throw refusal;
      lose();
      return begin();
    }
    remember(slot, id, h.shown = key);
  };
  // One request at a time, and of the wishes that came meanwhile the last: two on their way could pass each other.
  const open = async () => {
    if (h.opening) return;
    h.opening = true;
    while (h.key && h.opened !== h.key && !h.gone) {
      h.opened = h.key;
      await (h.id ? reopen() : begin()).then(accepted, refused);
    }
    h.opening = false;
  };
  const tell = (action, value) => h.id && post(`/sessions/${h.id}/control`, { action, value }).catch((refusal) => {
    if (refusal.status === 404) revive(); // nobody watched it for a while
    else hear({ type: "problem", error: refusal.message, ended: state.ended });
  });
  const lose = () => { h.stop?.(); h.id = null; };
  // A fit that is gone begins anew, and goes to where it was, with the same bits.
  const revive = () => {
    h.from = { play: h.frame?.playing ?? play, position: h.frame?.position ?? position };
    lose();
    again();
  };
  const back = (event) => { // perhaps the lab was started again
    if (!event.detail.lost && h.id) get(`/sessions/${h.id}`).catch((refusal) => refusal.status === 404 && revive());
  };
  const again = () => { h.opened = null; open(); };

  h.back = back;

  const end = () => {
    if (h.id) { forget(slot); del(`/sessions/${h.id}`).catch(() => {}); }
    lose();
    h.opened = null;
  };

  useEffect(() => {
    if (h.key) open();
    else if (h.id) { end(); setState(EMPTY); }
  });
  useEffect(() => {
    const leave = () => h.id && remember(slot, h.id, h.shown, true);
    const heard = (event) => h.back(event);
    addEventListener("pagehide", leave);
    addEventListener("margin:connection", heard);
    return () => {
      removeEventListener("pagehide", leave);
      removeEventListener("margin:connection", heard);
      h.gone = true;
      end();
    };
  }, []);
  return { ...state, tell, again, id: h.id };
}

// A reload in the middle finds its session again: the tab remembers which one it was watching. A tab that is a copy of
// another has its memory too, but only one that was left may be taken over.
const name = (slot) => `margin-session-${slot}`;
function remember(slot, id, key, left = false) { try { sessionStorage.setItem(name(slot), JSON.stringify({ id, key, left })); } catch { /* then a reload begins anew */ } }
function forget(slot) { try { sessionStorage.removeItem(name(slot)); } catch { /* nothing was kept */ } }
async function reattach(slot, key) {
  const kept = JSON.parse(sessionStorage.getItem(name(slot)) ?? "null");
  if (!kept?.left) throw new Error("another one");
  if (kept.key !== key) { // this tab left it for another screen: nobody will come back
    forget(slot);
    del(`/sessions/${kept.id}`).catch(() => {});
    throw new Error("another one");
  }
  const { closed, records } = await get(`/sessions/${kept.id}`);
  if (closed) throw new Error("closed");
  return { id: kept.id, position: records.length };
}
