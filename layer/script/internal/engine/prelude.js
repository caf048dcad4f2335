// This runs once in the realm of each function, before the function is compiled. host has the functions provided by Go,
// such as log(text), and load(source, id), which compiles a module; root is what require searches, or undefined.
(function (host, root) {
  'use strict';
  const global = globalThis;
  const stringify = JSON.stringify;
  const has = Object.prototype.hasOwnProperty;
  const tagOf = Object.prototype.toString;

  function define(name, value) {
    Object.defineProperty(global, name, { value: value, writable: true, enumerable: true, configurable: true });
  }

  define('toJSON', stringify);

  define('isArray', function isArray(value) {
    return tagOf.call(value) === '[object Array]';
  });

  define('sum', function sum(values) {
    let total = 0;
    for (const i in values) {
      total += values[i];
    }
    return total;
  });

  define('log', function log(message) {
    if (typeof message === 'object' && message !== null && 'stack' in message && 'name' in message &&
        'message' in message) {
      message = { error: message.name, message: message.message };
    }
    host.log(typeof message === 'string' ? message : String(stringify(message)));
  });

  // A date from given parts is computed. The current date comes from host.clock, which throws if the result must not
  // depend on it.
  const RealDate = Date;
  const clock = host.clock;
  function SandboxDate(...parts) {
    if (new.target === undefined) {
      return new RealDate(clock()).toString();
    }
    return Reflect.construct(RealDate, parts.length === 0 ? [clock()] : parts, new.target);
  }
  function now() {
    return clock();
  }
  Object.defineProperties(SandboxDate, {
    name: { value: 'Date' },
    length: { value: 7 },
    prototype: { value: RealDate.prototype, writable: false },
    parse: { value: RealDate.parse, writable: true, configurable: true },
    UTC: { value: RealDate.UTC, writable: true, configurable: true },
    now: { value: now, writable: true, configurable: true },
  });
  Object.defineProperty(RealDate.prototype, 'constructor', { value: SandboxDate, writable: true, configurable: true });
  Object.defineProperty(global, 'Date', { value: SandboxDate, writable: true, configurable: true });

  // The engine's own generator would restart with each call.
  const draw = host.draw;
  Object.defineProperty(Math, 'random', {
    value: function random() {
      return draw();
    },
    writable: true,
    configurable: true,
  });

  if (root === undefined) {
    return;
  }

  // CommonJS modules are strings in the design document, found by path.
  const loaded = Object.create(null);

  function fail(reason) {
    const e = new Error(reason);
    e.name = 'invalid_require_path';
    throw e;
  }

  function resolve(name, folder) {
    if (typeof name !== 'string') {
      fail('require takes a path, not ' + typeof name);
    }
    const steps = name.split('/');
    let path = steps[0] === '.' || steps[0] === '..' ? folder : [];
    if (path === undefined) {
      fail('"' + name + '" is relative, and what requires it is no module');
    }
    for (const step of steps) {
      if (step === '.') {
        continue;
      }
      if (step === '..') {
        if (path.length === 0) {
          fail('"' + name + '" leaves the design document');
        }
        path = path.slice(0, -1);
        continue;
      }
      path = path.concat([step]);
    }
    return path;
  }

  function source(path) {
    let found = root;
    for (const step of path) {
      if (typeof found !== 'object' || found === null || !has.call(found, step)) {
        fail('there is no "' + path.join('/') + '"');
      }
      found = found[step];
    }
    if (typeof found !== 'string') {
      fail('"' + path.join('/') + '" is not the text of a module');
    }
    return found;
  }

  function requireFrom(name, folder) {
    const path = resolve(name, folder);
    const id = path.join('/');
    if (id in loaded) {
      return loaded[id].exports;
    }
    const text = source(path);
    const module = { id: id, exports: {} };
    loaded[id] = module;
    const inside = path.slice(0, -1);
    try {
      host.load(text, id).call(global, module, module.exports, (inner) => requireFrom(inner, inside));
    } catch (e) {
      delete loaded[id];
      throw e;
    }
    return module.exports;
  }

  define('require', function require(name) {
    return requireFrom(name, undefined);
  });
})
