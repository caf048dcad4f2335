// JSON as text. A document is shown and sent back as it is written: numbers that a browser cannot hold stay as they
// are.
import { legible } from './dom.js';

/** Indents JSON without changing its values, and escapes hidden characters. Text that is not JSON stays as it is. */
export const pretty = source => {
  try {
    JSON.parse(source);
  } catch {
    return source;
  }
  const tokens = source.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) || [];
  let out = '',
    depth = 0;
  const line = () => {
    out += '\n' + '  '.repeat(depth);
  };
  tokens.forEach((t, i) => {
    if (t === '{' || t === '[') {
      out += t;
      depth++;
      if (tokens[i + 1] !== '}' && tokens[i + 1] !== ']') line();
    } else if (t === '}' || t === ']') {
      depth--;
      if (tokens[i - 1] !== '{' && tokens[i - 1] !== '[') line();
      out += t;
    } else if (t === ',') {
      out += t;
      line();
    } else out += t === ':' ? ': ' : legible(t);
  });
  return out;
};

/** The lines of two texts beside each other: [left, right, same]. A line that one has not is null. */
export const compare = (a, b) => {
  const x = a.split('\n'),
    y = b.split('\n'),
    out = [];
  let begin = 0,
    end = 0;
  while (begin < x.length && begin < y.length && x[begin] === y[begin]) begin++;
  while (end < x.length - begin && end < y.length - begin && x[x.length - 1 - end] === y[y.length - 1 - end]) end++;
  const p = x.slice(begin, x.length - end),
    q = y.slice(begin, y.length - end);
  x.slice(0, begin).forEach(l => out.push([l, l, true]));
  if (p.length * q.length > 1e6) {
    // too long to look for what they share
    for (let i = 0; i < Math.max(p.length, q.length); i++) out.push([p[i] ?? null, q[i] ?? null, false]);
  } else {
    const best = Array.from({ length: p.length + 1 }, () => new Uint16Array(q.length + 1));
    for (let i = p.length - 1; i >= 0; i--)
      for (let j = q.length - 1; j >= 0; j--) {
        best[i][j] = p[i] === q[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
      }
    for (let i = 0, j = 0; i < p.length || j < q.length;) {
      if (i < p.length && j < q.length && p[i] === q[j]) {
        out.push([p[i++], q[j++], true]);
        continue;
      }
      const left = i < p.length && (j === q.length || best[i + 1][j] >= best[i][j + 1]);
      const change = left && j < q.length && best[i + 1][j + 1] === best[i][j];
      if (change) out.push([p[i++], q[j++], false]);
      else if (left) out.push([p[i++], null, false]);
      else out.push([null, q[j++], false]);
    }
  }
  x.slice(x.length - end).forEach(l => out.push([l, l, true]));
  return out;
};
