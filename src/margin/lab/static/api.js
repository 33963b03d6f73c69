// Requests to the lab's server, and the one stream of events that all rooms of this tab share.

export class Refusal extends Error {
  constructor(status, sentence) { super(sentence); this.status = status; }
}

async function request(method, path, body, type = "application/json") {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["content-type"] = type;
    options.body = type === "application/json" ? JSON.stringify(body) : body;
  } else if (method !== "GET") {
    options.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(`/api${path}`, options);
  } catch {
    throw new Refusal(0, "The lab does not answer: is it still running in its terminal?");
  }
  const text = await answer.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { value = text; }
  if (!answer.ok) throw new Refusal(answer.status, value?.error ?? `The lab answered ${answer.status}.`);
  return value;
}

export const get = (path) => request("GET", path);
export const post = (path, body = {}) => request("POST", path, body);
export const del = (path) => request("DELETE", path);
/** A JSON body, or raw bytes (a File, Blob or ArrayBuffer). */
export const put = (path, body) =>
  body instanceof Blob || body instanceof ArrayBuffer
    ? request("PUT", path, body, "application/octet-stream")
    : request("PUT", path, body);

// Followers by topic. A change of topics opens the stream again, for each topic behind the last event that was seen.
const followers = new Map(), seen = new Map();
let source = null, waiting = false, lost = false, alarm = 0;
const PATIENCE = 1500, AGAIN = 2000; // milliseconds until a lost stream is told, and between two tries

/** Tell the page whether the lab answers; a stream that comes back at once was not lost. */
function connected(yes) {
  clearTimeout(alarm);
  const tell = () => { lost = !yes; dispatchEvent(new CustomEvent("margin:connection", { detail: { lost } })); };
  if (!yes && !lost) alarm = setTimeout(tell, PATIENCE);
  else if (yes && lost) tell();
}

/** A browser tries a broken stream again by itself, but not one that was refused, as by a lab that was started anew. */
function retry() {
  setTimeout(() => get("/lab").then(reconnect, retry), AGAIN);
}

function reconnect() {
  if (waiting) return;
  waiting = true;
  queueMicrotask(() => {
    waiting = false;
    source?.close();
    source = null;
    if (!followers.size) return;
    const topics = [...followers.keys()].map((topic) => `${topic}@${seen.get(topic) ?? ""}`).join(",");
    source = new EventSource(`/api/events?${new URLSearchParams({ topics })}`);
    source.onopen = () => connected(true);
    source.onerror = () => { connected(false); if (source?.readyState === EventSource.CLOSED) retry(); };
    source.onmessage = (message) => {
      const [topic, event] = JSON.parse(message.data);
      seen.set(topic, message.lastEventId);
      for (const follow of [...(followers.get(topic) ?? [])]) follow(event);
    };
  });
}

/** Call `follow(event)` for every event of `topic`, those that the server still remembers included; returns how to stop. */
export function subscribe(topic, follow) {
  if (!followers.has(topic)) { followers.set(topic, new Set()); seen.delete(topic); }
  followers.get(topic).add(follow);
  reconnect();
  return () => {
    const rest = followers.get(topic);
    rest?.delete(follow);
    if (rest && !rest.size) { followers.delete(topic); reconnect(); }
  };
}
