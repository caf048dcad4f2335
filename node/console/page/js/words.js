// The word of a statement that is being written. A statement may hold a literal of megabytes, and this is asked for at
// each key: all here is linear in the length of the text.

const openers = /'|"|--|\/\*|\$(?:[a-z_]\w*)?\$/gi; // of what is not words
const closers = { "'": "'", '"': '"', '--': '\n', '/*': '*/' };
const longest = 200; // characters of a name that is looked for

/** Where the bare name that ends before at begins, or its last characters; at itself if there is none. */
const beginning = (text, at) => {
  let from = at;
  while (from > 0 && at - from <= longest && /[\w$]/.test(text[from - 1])) from--;
  return from;
};

const unquoted = s => s.replace(/^"|"$/g, '').replaceAll('""', '"');

/**
 * The word before a place of a statement, as far as it is written: {owner, begun, from}. owner is the name before it and
 * a dot, or ''. Null within a literal or a comment.
 */
export const wordBefore = (statement, caret) => {
  const text = statement.slice(0, caret);
  const names = new Map(); // where quoted names begin, by where they end
  let from = -1; // where a quoted name begins that is not at its end
  for (let at = 0, open; (openers.lastIndex = at), (open = openers.exec(text));) {
    const close = closers[open[0]] || open[0];
    at = text.indexOf(close, openers.lastIndex);
    while (/['"]/.test(close) && at >= 0 && text[at + 1] === close) at = text.indexOf(close, at + 2);
    if (at < 0) {
      if (close !== '"') return null;
      from = open.index;
      break;
    }
    at += close.length;
    if (close === '"') names.set(at, open.index);
  }
  if (from < 0) from = beginning(text, text.length);
  if (text.length - from > longest) return null;
  const before = text.slice(0, from).trimEnd();
  let owner = '';
  if (before.endsWith('.')) {
    const end = before.slice(0, -1).trimEnd().length;
    owner = text.slice(names.get(end) ?? beginning(text, end), end);
  }
  return { owner: unquoted(owner), begun: unquoted(text.slice(from)).toLowerCase(), from };
};

/** What a name stands for as an alias in a statement, or undefined. */
export const aliased = (statement, name) => {
  const words = name.replace(/[^\w]/g, '\\$&');
  // Each word is only looked at from its beginning. Before a dot the alias is used, not made.
  const found = new RegExp(`(?<![\\w"$.])([\\w"$.]+)\\s+(?:as\\s+)?${words}\\b(?!\\s*\\.)`, 'i').exec(statement);
  return found ? found[1] : undefined;
};
