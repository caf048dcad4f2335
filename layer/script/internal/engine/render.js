// This runs once in the realm of a show, list, update or rewrite function, before the function is compiled. host has
// the functions of Go that a list function talks through: begin(head), write(text), flush() and row(). It returns the
// functions that Go calls, each with the function of the design document, the design document and the arguments. Their
// results are lists like ["resp", response]; what the function throws on purpose is ["error", name, reason].
(function (host) {
  'use strict';
  const global = globalThis;
  const stringify = JSON.stringify;
  const isList = Array.isArray;
  const flushAt = 32768;

  // The types that provides knows by name. A name stands for all of its types, and the answer has the one that the
  // client asked for, or the first.
  const types = Object.create(null);
  const names = Object.create(null);

  function registerType(name, ...mimes) {
    types[name] = mimes;
    for (const mime of mimes) {
      names[mime] = name;
    }
  }

  for (const entry of [
    ['all', '*/*'],
    ['text', 'text/plain; charset=utf-8', 'txt'],
    ['html', 'text/html; charset=utf-8'],
    ['xhtml', 'application/xhtml+xml', 'xhtml'],
    ['xml', 'application/xml', 'text/xml', 'application/x-xml'],
    ['js', 'text/javascript', 'application/javascript', 'application/x-javascript'],
    ['css', 'text/css'],
    ['ics', 'text/calendar'],
    ['csv', 'text/csv'],
    ['rss', 'application/rss+xml'],
    ['atom', 'application/atom+xml'],
    ['yaml', 'application/x-yaml', 'text/yaml'],
    ['multipart_form', 'multipart/form-data'],
    ['url_encoded_form', 'application/x-www-form-urlencoded'],
    ['json', 'application/json', 'text/x-json'],
  ]) {
    registerType(...entry);
  }

  const provided = []; // calls of provides: {name, make}
  let chosen = null; // the type that was chosen among them

  function provides(name, make) {
    provided.push({ name: name, make: make });
  }

  // parseType splits "type/subtype; a=b" into its parts.
  function parseType(text) {
    const [full, ...rest] = text.split(';');
    const [type, subtype] = (full.trim() === '*' ? '*/*' : full.trim()).split('/');
    const params = Object.create(null);
    for (const param of rest) {
      const [name, value] = param.split('=');
      if (value !== undefined) {
        params[name.trim()] = value.trim();
      }
    }
    return { type: type, subtype: subtype, params: params };
  }

  // quality returns how much the client wants a type: the q of the range that fits it best.
  function quality(mime, ranges) {
    const wanted = parseType(mime);
    let best = -1;
    let q = 0;
    for (const range of ranges) {
      const sameType = range.type === wanted.type;
      const sameSubtype = range.subtype === wanted.subtype;
      if (!(sameType || range.type === '*' || wanted.type === '*')) {
        continue;
      }
      if (!(sameSubtype || range.subtype === '*' || wanted.subtype === '*')) {
        continue;
      }
      let fit = (sameType ? 100 : 0) + (sameSubtype ? 10 : 0);
      for (const name in wanted.params) {
        fit += name !== 'q' && range.params[name] === wanted.params[name] ? 1 : 0;
      }
      if (fit > best) {
        best = fit;
        q = range.q;
      }
    }
    return q;
  }

  // accepted returns the provided type that the client wants most, or ''. Among equals the last one registered under
  // the name that was provided first wins, as in CouchDB.
  function accepted(accept) {
    const ranges = accept.split(',').map(function (text) {
      const range = parseType(text);
      const q = range.params.q === undefined ? 1 : Number(range.params.q);
      range.q = q >= 0 && q <= 1 ? q : 1;
      return range;
    });
    let best = '';
    let most = 0;
    for (const { name } of provided) {
      for (const mime of (types[name] || []).slice().reverse()) {
        const q = quality(mime, ranges);
        if (q > most) {
          most = q;
          best = mime;
        }
      }
    }
    return best;
  }

  class Refusal {
    constructor(name, reason) {
      this.list = ['error', name, reason];
    }
  }

  // runProvided calls the function provided for the type that the client asked for.
  function runProvided(req, ddoc) {
    const format = req.query && req.query.format;
    const accept = req.headers && req.headers.Accept;
    let name;
    if (format) {
      name = format;
      chosen = types[format] ? types[format][0] : null;
    } else if (accept) {
      chosen = accepted(accept);
      name = names[chosen];
    } else {
      name = provided[0].name;
      chosen = types[name] ? types[name][0] : null;
    }
    const found = provided.find((one) => one.name === name);
    if (found !== undefined) {
      return found.make.call(ddoc);
    }
    const ordered = accept && !format ? provided.slice().reverse() : provided;
    const offered = ordered.map((one) => (types[one.name] || []).join(', ') || one.name);
    throw new Refusal('not_acceptable', 'Content-Type ' + (accept || name) +
      ' not supported, try one of: ' + offered.join(', '));
  }

  // What start and send have collected. A list sends it on with each row, other functions at their end.
  let listing = false;
  let began = false; // the head of a list was passed to Go
  let changed = false; // start was called since
  let head = {};
  let chunks = [];
  let size = 0;

  function start(response) {
    head = response || {};
    changed = true;
  }

  function send(chunk) {
    const text = String(chunk.toString());
    if (!listing) {
      chunks.push(text);
      return;
    }
    host.write(text);
    size += text.length;
    if (size >= flushAt) {
      flush();
    }
  }

  function passHead() {
    if (began && !changed) {
      return;
    }
    began = true;
    changed = false;
    host.begin(stringify(withType(head)));
    head = {};
  }

  function flush() {
    passHead();
    size = 0;
    host.flush();
  }

  let ended = false;

  function getRow() {
    if (!listing || ended) {
      return null;
    }
    passHead();
    size = 0;
    const row = host.row();
    if (row === undefined) {
      ended = true;
      return null;
    }
    return row;
  }

  function withType(response) {
    const headers = response.headers || {};
    if (chosen && !headers['Content-Type']) {
      headers['Content-Type'] = chosen;
    }
    response.headers = headers;
    return response;
  }

  for (const [name, value] of Object.entries({ registerType, provides, start, send, getRow })) {
    Object.defineProperty(global, name, { value: value, writable: true, enumerable: true, configurable: true });
  }

  // wrapped returns a response for a text, which is its body.
  function wrapped(response) {
    return typeof response === 'string' ? { body: response } : response;
  }

  function isResponse(response) {
    return typeof response === 'object' && response !== null && !isList(response);
  }

  // thrown returns the result for what a function threw on purpose; anything else is thrown again.
  function thrown(e, missing) {
    if (missing) {
      return ['error', 'not_found', 'document not found'];
    }
    if (e instanceof Refusal) {
      return e.list;
    }
    if (typeof e === 'object' && e !== null) {
      if (e[0] === 'error' || e[0] === 'fatal') {
        return ['error', String(e[1]), typeof e[2] === 'string' ? e[2] : String(stringify(e[2]))];
      }
      if (e.error && e.reason) {
        return ['error', String(e.error), typeof e.reason === 'string' ? e.reason : String(stringify(e.reason))];
      }
    }
    throw e;
  }

  function show(fn, ddoc, doc, req) {
    try {
      let response = wrapped(fn.call(ddoc, doc, req) || {});
      if (!isResponse(response)) {
        throw new Refusal('render_error', 'undefined response from show function');
      }
      if (chunks.length > 0) {
        response = Object.assign({}, response, { headers: Object.assign({}, response.headers, head.headers || head) });
        response.body = chunks.join('') + (response.body || '');
        chunks = [];
      }
      if (provided.length > 0) {
        const more = wrapped(runProvided(req, ddoc) || {});
        response.body = (response.body || '') + chunks.join('') + (more.body || '');
        response = withType(response);
      }
      return ['resp', response];
    } catch (e) {
      return thrown(e, doc === null && req.path.length > 5);
    }
  }

  function update(fn, ddoc, doc, req) {
    try {
      const result = fn.call(ddoc, doc, req);
      const edit = result[0];
      const response = wrapped(result[1]);
      if (!isResponse(response)) {
        return ['error', 'render_error', 'undefined response from update function'];
      }
      return ['up', isResponse(edit) ? edit : null, response];
    } catch (e) {
      return thrown(e, false);
    }
  }

  function list(fn, ddoc, first, req) {
    listing = true;
    try {
      let tail = fn.call(ddoc, first, req);
      if (provided.length > 0) {
        tail = runProvided(req, ddoc);
      }
      passHead();
      if (tail !== undefined) {
        host.write(String(tail));
      }
      return ['end'];
    } catch (e) {
      return thrown(e, false);
    }
  }

  function rewrite(fn, ddoc, req) {
    try {
      const result = fn.call(ddoc, req);
      if (!result) {
        return ['no_dispatch_rule'];
      }
      return ['ok', typeof result === 'string' ? { path: result, method: req.method } : result];
    } catch (e) {
      return thrown(e, false);
    }
  }

  return { show, update, list, rewrite };
})
