// What a view shows, behind the “?” of the address: its search, order and page. Back, a reload, and whoever is sent the
// address, show the same.

/** What the address says. */
export const given = () => new URLSearchParams(location.hash.split('?')[1]);

/**
 * Writes values into the address; those that are empty are removed, and others stay. turned: it is another page, from
 * which Back leads to the one before. name and before are for pagesBefore.
 */
export const note = (values, turned = false, name = '', before = []) => {
  const query = given();
  for (const [k, v] of Object.entries(values))
    if (v) query.set(k, v);
    else query.delete(k);
  const path = location.hash.split('?')[0] || '#/',
    rest = String(query);
  const state = { ...history.state, [name]: [...before] };
  history[turned ? 'pushState' : 'replaceState'](state, '', rest ? `${path}?${rest}` : path);
};

/** Where the pages before this one begin, as noted. Only the browser's history has it: an address would be long. */
export const pagesBefore = name => [...((history.state || {})[name] || [])];
