// Lines of values over time, drawn as SVG.
const ns = 'http://www.w3.org/2000/svg';
const svg = (name, props) => {
  const e = document.createElementNS(ns, name);
  for (const [k, v] of Object.entries(props)) e.setAttribute(k, v);
  return e;
};

/** A small plot of values; null is a gap. label describes it to screen readers. */
export const sparkline = (values, label) => {
  const w = 100, h = 30, top = Math.max(1e-9, ...values.filter(v => v !== null));
  const x = i => values.length < 2 ? 0 : i * w / (values.length - 1), y = v => h - v / top * (h - 2) - 1;
  let line = '', area = '', from = -1;
  const close = i => { if (from >= 0) area += `L${x(i).toFixed(1)} ${h}L${x(from).toFixed(1)} ${h}Z`; from = -1; };
  values.forEach((v, i) => {
    if (v === null) { close(i - 1); return; }
    const at = `${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    line += (from < 0 ? 'M' : 'L') + at;
    area += (from < 0 ? 'M' : 'L') + at;
    if (from < 0) from = i;
  });
  close(values.length - 1);
  const e = svg('svg', { viewBox: `0 0 ${w} ${h}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label });
  e.append(svg('path', { class: 'area', d: area || 'M0 0' }), svg('path', { class: 'line', d: line || 'M0 0' }));
  return e;
};
