// Follows a view of the server: by a stream of differences, or by asking again and again.
import { serverTime } from './dom.js';

const every = 2000;
const api = '/_dashboard/api/';

/** The address of a view. The page's own may contain a name and a password, which fetch refuses. */
export const address = (view, params) => {
  const u = new URL(api + view, location.origin);
  for (const [k, v] of Object.entries(params || {})) if (v !== '' && v !== undefined && v !== null && v !== false) u.searchParams.set(k, v);
  return u;
};

/** Reads a view once. */
export const read = async (view, params) => {
  const r = await fetch(address(view, params), { credentials: 'same-origin', cache: 'no-store', signal: AbortSignal.timeout(15000) });
  const body = await r.json().catch(() => ({}));
  if (!r.ok) throw new Error(r.status === 401 ? 'sign in as an admin' : body.reason || `HTTP ${r.status}`);
  serverTime(body.now);
  return body;
};

/** Applies a list of [path, value] to a value. */
export const apply = (state, changes) => {
  for (const [path, ...value] of changes) {
    if (path.length === 0) { state = value[0]; continue; }
    let at = state;
    for (const k of path.slice(0, -1)) at = at[k];
    const last = path[path.length - 1];
    if (value.length) at[last] = value[0]; else delete at[last];
  }
  return state;
};

/**
 * Follows a view until the returned function is called. show gets its state, say what goes wrong, or null. A browser opens
 * few connections to one server, so a page has one stream, none while it is hidden, and asks for everything else (asks).
 */
export const follow = (view, params, show, say, asks = false) => {
  let stopped = false, stream = null, timer = 0, state = null, failures = 0;
  const got = s => { state = s; failures = 0; serverTime(s.now); say(null); show(s); };
  const poll = async () => {
    clearTimeout(timer);
    try {
      const s = await read(view, params);
      if (!stopped) got(s);
    } catch (e) {
      if (!stopped) say(e.message);
    }
    if (!stopped && !document.hidden) timer = setTimeout(poll, every);
  };
  const close = () => { if (stream) stream.close(); stream = null; clearTimeout(timer); };
  const listen = () => {
    const s = stream = new EventSource(address(view, { ...params, live: 1 }), { withCredentials: true });
    s.addEventListener('state', e => got(JSON.parse(e.data)));
    s.addEventListener('diff', e => { if (state !== null) got(apply(state, JSON.parse(e.data))); });
    s.addEventListener('trouble', e => say(JSON.parse(e.data)));
    s.addEventListener('error', () => {
      if (stream !== s) return;
      if (++failures > 1) say('no answer'); // a stream ends after some minutes, and the browser opens another one
      if (failures < 3 && s.readyState !== EventSource.CLOSED) return;
      close();
      asks = true;
      poll();
    });
  };
  const start = () => { if (asks || !window.EventSource) poll(); else listen(); };
  const shown = () => { close(); if (!document.hidden) start(); };
  document.addEventListener('visibilitychange', shown);
  start();
  return () => { stopped = true; close(); document.removeEventListener('visibilitychange', shown); };
};

let token = '';

/** Does something on the server. */
export const act = async action => {
  if (!token) token = (await read('token')).token;
  const r = await fetch(address('act'), { method: 'POST', credentials: 'same-origin', body: JSON.stringify(action),
    headers: { 'Content-Type': 'application/json', 'X-Divan-Token': token } });
  if (r.ok) return;
  if (r.status === 403) token = ''; // the node has restarted
  throw new Error((await r.json().catch(() => ({}))).reason || `HTTP ${r.status}`);
};
