'use strict';
(() => {
  const every = 2000;

  // Data from the server is only inserted as text nodes, never as HTML.
  const el = (name, props, ...children) => {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(props || {})) {
      if (v === null || v === undefined || v === false) continue;
      if (k === 'class') e.className = v; else e.setAttribute(k, v === true ? '' : v);
    }
    for (const c of children.flat(Infinity)) if (c !== null && c !== undefined) e.append(c);
    return e;
  };
  const text = v => v === null || v === undefined ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v);
  const number = v => typeof v === 'number' ? v.toLocaleString('en') : text(v);
  const bytes = v => {
    if (typeof v !== 'number') return text(v);
    for (const unit of ['B', 'KB', 'MB', 'GB']) { if (v < 1000) return `${+v.toPrecision(3)} ${unit}`; v /= 1000; }
    return `${+v.toPrecision(3)} TB`;
  };

  let skew = 0; // the server's clock minus the browser's, in ms
  const ago = v => {
    const t = typeof v === 'number' ? v * 1000 : Date.parse(v);
    if (!v || isNaN(t)) return '';
    const s = Math.max(0, Math.round((Date.now() + skew - t) / 1000));
    if (s < 60) return `${s} s ago`;
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
    return `${Math.floor(s / 86400)} d ago`;
  };
  const time = v => v ? el('time', { datetime: typeof v === 'number' ? new Date(v * 1000).toISOString() : v, title: text(v) }, ago(v)) : '';

  // A table of rows. columns: [title, cell(row), class].
  const table = (caption, columns, rows) => el('table', { 'aria-label': caption },
    el('thead', {}, el('tr', {}, columns.map(c => el('th', { scope: 'col', class: c[2] }, c[0])))),
    el('tbody', {}, rows.map(r => el('tr', {}, columns.map(c => el('td', { class: c[2] }, c[1](r)))))));
  let counts = {}; // total lengths of lists that may be incomplete
  const listOf = (count, caption, columns, rows, none) => {
    const t = list(caption, columns, rows, none);
    return count > rows.length ? el('div', {}, el('p', { class: 'dim' }, `${number(rows.length)} of ${number(count)}`), t) : t;
  };
  const list = (caption, columns, rows, none) =>
    Array.isArray(rows) && rows.length ? table(caption, columns, rows) : el('p', { class: 'none' }, none);

  const statusClass = { alive: 'good', suspect: 'warn', left: 'bad' };
  const members = v => list('Members', [
    ['Name', m => [text(m.name), m.self ? [' ', el('span', { class: 'badge' }, 'this node')] : null]],
    ['Status', m => el('span', { class: statusClass[m.status] }, { alive: '● ', suspect: '◐ ', left: '○ ' }[m.status] || '', text(m.status))],
    ['HTTP', m => m.self || m.status === 'left' || !/^[\w.:[\]-]+$/.test(m.http || '') ? text(m.http)
      : el('a', { href: `${location.protocol}//${m.http}/_dashboard/`, rel: 'noreferrer' }, m.http)],
    ['SQL', m => text(m.sql)],
    ['Gossip', m => text(m.gossip)],
    ['Version', m => text(m.version)],
    ['Roles', m => (m.roles || []).join(', '), 'wide'],
  ], Array.isArray(v) ? v : v.members, 'No members.');

  const states = { 'backing off': 'warn', restarting: 'bad', gone: 'warn', stopping: 'dim', full: 'warn' };
  const factText = f => Object.entries(f || {})
    .filter(([k, v]) => typeof v !== 'object' && v !== '' && k !== 'error')
    .map(([k, v]) => `${k.replaceAll('_', ' ')} ${number(v)}`).join(' · ');
  const flatten = (n, depth, out) => {
    out.push([n, depth]);
    for (const c of n.children || []) flatten(c, depth + 1, out);
    if (n.hidden) out.push([{ kind: '', name: `and ${number(n.hidden)} more`, mailbox: '', restarts: '' }, depth + 1]);
    return out;
  };
  const actors = v => {
    const rows = v.tree ? flatten(v.tree, 0, []) : [];
    const t = list('Supervision tree', [
      ['Actor', ([n, depth]) => [Array.from({ length: depth }, () => el('span', { class: 'branch' })),
        el('span', { class: 'kind' }, text(n.kind)), ' ', text(n.name)]],
      ['State', ([n]) => el('span', { class: states[n.state] }, text(n.state))],
      ['Mailbox', ([n]) => number(n.mailbox), 'n'],
      ['Restarts', ([n]) => el('span', { class: n.restarts ? 'bad' : 'dim' }, number(n.restarts)), 'n'],
      ['Last failure', ([n]) => n.last_failure
        ? [el('span', { class: 'failure' }, text(n.last_failure)), ' ', time(n.last_failure_at)]
        : n.facts && n.facts.error ? el('span', { class: 'warn' }, text(n.facts.error)) : '', 'wide'],
      ['Details', ([n]) => factText(n.facts), 'wide dim'],
    ], rows, 'No actors.');
    t.querySelectorAll('tbody tr').forEach((tr, i) => tr.setAttribute('aria-level', rows[i][1] + 1));
    if (rows.length) { t.setAttribute('role', 'treegrid'); t.setAttribute('aria-readonly', 'true'); }
    return t;
  };

  const tasks = v => list('Index builds', [
    ['Database', t => text(t.database)],
    ['Design document', t => text(t.design_document || t.type) + (t.shard ? ` · shard ${t.shard}` : '')],
    ['Progress', t => t.total_changes
      ? [el('progress', { max: 100, value: t.progress || 0, 'aria-label': 'progress' }), ` ${number(t.progress)} %`]
      : [el('progress', { 'aria-label': 'progress unknown' })]],
    ['Changes', t => number(t.changes_done) + (t.total_changes ? ` of ${number(t.total_changes)}` : ''), 'n'],
    ['Rows', t => number(t.rows), 'n'],
    ['Shards', t => t.shards
      ? [`${t.shards.filter(s => s.done).length} of ${t.shards.length} done `,
        el('span', { class: 'dim' }, t.shards.map(s => `${s.shard}: ${s.done ? 'done' : number(s.changes_done)}`).join(', '))]
      : '', 'wide'],
    ['Node', t => text(t.node)],
    ['Started', t => time(t.started_on)],
    ['', t => t.error ? el('span', { class: 'failure' }, text(t.error)) : '', 'wide'],
  ], v, 'No index is being built.');

  const shards = v => listOf(counts.shards, 'Changes shards', [
    ['Database', s => text(s.database)],
    ['Shard', s => text(s.shard)],
    ['Sequence', s => el('code', {}, text(s.seq)), 'wide'],
    ['Actor on', s => text(s.node)],
    ['Listeners', s => number(s.listeners), 'n'],
    ['Nodes woken', s => number(s.followers || 0), 'n'],
    ['Wakes', s => number(s.wakes), 'n'],
    ['State here', s => el('span', { class: states[s.state] }, text(s.state))],
    ['', s => s.error ? el('span', { class: 'failure' }, text(s.error)) : '', 'wide'],
  ], v, 'No one listens to a changes feed.');

  // A sequence begins with its incarnation. The eight bytes before the last four are a version, which grows by a
  // million per second.
  const version = seq => parseInt(text(seq).slice(-24, -8), 16);
  const behind = i => {
    const s = (version(i.last_seq) - version(i.seq)) / 1e6;
    if (!(s >= 0)) return 'never built';
    return s < 60 ? `${s.toFixed(1)} s behind` : s < 3600 ? `${Math.floor(s / 60)} min behind` : `${Math.floor(s / 3600)} h behind`;
  };
  const indexes = v => listOf(counts.indexes, 'Indexes', [
    ['Database', i => text(i.database)],
    ['Design document', i => text(i.design)],
    ['Views', i => text(Array.isArray(i.views) ? i.views.join(', ') : i.views), 'wide'],
    ['Rows', i => number(i.rows), 'n'],
    ['Size', i => bytes(i.bytes), 'n'],
    ['Freshness', i => i.current ? el('span', { class: 'good' }, 'up to date')
      : el('span', { class: 'warn' }, i.building ? `building, ${behind(i)}` : behind(i))],
    ['Skipped documents', i => el('span', { class: i.errors ? 'bad' : 'dim' }, number(i.errors)), 'n'],
    ['', i => i.skipped ? el('span', { class: 'failure' }, text(i.skipped)) : '', 'wide'],
  ], v, 'No indexes.');

  const numbers = o => Object.entries(o || {}).map(([k, n]) => `${k} ${number(n)}`).join(', ');
  const scripts = v => {
    const of = [['Runtimes', `${number(v.runtimes - v.idle)} busy, ${number(v.idle)} idle, at most ${number(v.most)}`],
      ['Calls', `${number(v.running)} running, ${number(v.paused)} paused, ${number(v.waiting)} waiting`],
      ['Stopped at a limit', numbers(v.limits)], ['Refused', number(v.refused)], ['Restarted', number(v.stopped)]];
    const facts = el('dl', {}, ...of.map(([k, x]) => el('div', {}, el('dt', {}, k), el('dd', {}, x))));
    return el('div', {}, facts, list('Databases that recently used JavaScript', [
      ['Database', d => text(d.database)],
      ['Processor', d => `${d.seconds.toFixed(2)} s`, 'n'],
      ['Calls waiting', d => number(d.waiting), 'n'],
    ], v.databases || [], 'No function has run recently.'));
  };

  const age = s => s < 90 ? `${Math.floor(s)} s` : s < 5400 ? `${Math.floor(s / 60)} min` : `${Math.floor(s / 3600)} h`;
  const compaction = v => {
    const of = [['Automatic', v.auto ? 'on' : 'off'],
      ['Runs', `${number(v.runs)}, ${number(v.failures)} failed`],
      ['Removed', `${number(v.bodies)} bodies, ${bytes(v.body_bytes)}; attachments ${bytes(v.attachment_bytes)}`],
      ['Superseded', `${number(v.queue)} bodies in ${number(v.waiting)} databases`]];
    const facts = el('dl', {}, ...of.map(([k, x]) => el('div', {}, el('dt', {}, k), el('dd', {}, x))));
    const error = v.last_error
      ? el('p', {}, el('span', { class: 'failure' }, text(`${v.last_error_database}: ${v.last_error}`)), ' ', time(v.last_error_at)) : '';
    return el('div', {}, facts, error, list('Databases with superseded revisions', [
      ['Database', d => text(d.database)],
      ['Bodies', d => number(d.bodies), 'n'],
      ['About', d => bytes(d.bytes), 'n'],
      ['Oldest', d => age(d.oldest_seconds), 'n'],
      ['', d => d.asked ? el('span', { class: 'warn' }, 'asked for') : ''],
    ], v.databases || [], 'No superseded revisions.'));
  };

  const jobs = v => list('Jobs', [
    ['Type', j => text(j.type)],
    ['Job', j => text(j.id), 'wide'],
    ['State', j => el('span', { class: { running: 'good', pending: 'warn' }[j.state] }, text(j.state))],
    ['Worker', j => text(j.worker)],
    ['Failures', j => el('span', { class: j.failures ? 'bad' : 'dim' }, number(j.failures || 0)), 'n'],
    ['Updated', j => time(j.updated)],
    ['', j => j.error ? el('span', { class: 'failure' }, text(j.error)) : '', 'wide'],
  ], v, 'The queue is empty.');

  const sessions = v => list('SQL sessions', [
    ['PID', s => text(s.pid), 'n'],
    ['User', s => text(s.user)],
    ['Database', s => text(s.database)],
    ['Application', s => text(s.application)],
    ['State', s => text(s.state)],
    ['Since', s => time(s.since)],
    ['Rows', s => number(s.rows), 'n'],
    ['Statement', s => el('code', {}, text(s.query)), 'wide'],
  ], v, 'No session is open.');

  const sections = { members, tasks, actors, shards, indexes, scripts, compaction, jobs, sessions };
  const shown = {}; // the text of each section, to skip unchanged ones

  const showNode = v => {
    if (!v || v.error) return;
    document.getElementById('node-name').textContent = text(v.name);
    document.title = `Divan ${text(v.name)}`;
    document.getElementById('node-facts').replaceChildren(...Object.entries(v).filter(([k]) => k !== 'name')
      .map(([k, x]) => el('div', {}, el('dt', {}, k.replaceAll('_', ' ')), el('dd', {}, k === 'started' ? time(x) : text(x)))));
  };

  const showStore = v => {
    const alert = document.getElementById('store');
    alert.hidden = !(v && v.error !== undefined);
    alert.textContent = alert.hidden ? '' : `${text(v.error)}. Requests that need the store are answered with 503 until it is back.`;
  };

  const showHealth = v => {
    const list = document.getElementById('health'), reasons = Array.isArray(v) ? v : [];
    list.hidden = reasons.length === 0;
    const now = JSON.stringify(reasons);
    if (shown.health === now) return;
    shown.health = now;
    list.replaceChildren(...reasons.map(r => el('li', {}, text(r))));
  };

  const show = data => {
    if (data.now) skew = Date.parse(data.now) - Date.now();
    showNode(data.node);
    showStore(data.store);
    showHealth(data.health);
    counts = data.counts || {};
    for (const [name, render] of Object.entries(sections)) {
      const section = document.getElementById(name), v = data[name];
      section.hidden = v === undefined;
      if (v === undefined) continue;
      const now = JSON.stringify([v, counts[name]]);
      if (shown[name] === now) {
        section.querySelectorAll('time').forEach(t => { t.textContent = ago(t.getAttribute('datetime')); });
        continue;
      }
      shown[name] = now;
      let content;
      try {
        content = v && v.error !== undefined ? el('p', { class: 'failure' }, `Cannot be read: ${text(v.error)}`) : render(v);
      } catch (e) {
        content = el('p', { class: 'failure' }, `Cannot be shown: ${e.message}`);
      }
      section.querySelector('.body').replaceChildren(content);
    }
  };

  const status = document.getElementById('status');
  const say = (message, lost) => {
    if (status.textContent !== message) status.textContent = message;
    status.classList.toggle('lost', !!lost);
  };
  let timer = 0;
  const poll = async () => {
    clearTimeout(timer);
    try {
      // Not just 'data': the page's URL may contain a name and a password, which fetch refuses.
      const r = await fetch(new URL('data', location.origin + location.pathname), { credentials: 'same-origin', cache: 'no-store', signal: AbortSignal.timeout(10000) });
      if (!r.ok) throw new Error(r.status === 401 || r.status === 403 ? 'sign in as an admin' : `HTTP ${r.status}`);
      show(await r.json());
      say('Live');
    } catch (e) {
      say(`Not up to date: ${e.message}`, true);
    }
    if (!document.hidden) timer = setTimeout(poll, every);
  };
  document.addEventListener('visibilitychange', () => { if (!document.hidden) poll(); });
  poll();
})();
