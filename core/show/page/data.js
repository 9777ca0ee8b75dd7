// What the page knows, how it writes numbers, and how it makes elements. Texts of runs only ever
// become text nodes and attributes.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const {runs, curves, swept} = read('run-data');
runs.forEach((run, i) => { run.index = i; });

const several = (values) => new Set(values).size > 1;
const manyModels = several(runs.map((run) => run.model || ''));

// The name under which a run is compared: days of different models are not.
function seriesOf(run) {
  const strategy = run.strategy || 'runs';
  return manyModels ? `${strategy} · ${run.model || 'model not known'}` : strategy;
}

function grouped(values, key) {
  const groups = new Map();
  for (const value of values) {
    const name = key(value);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(value);
  }
  return groups;
}

// Four digits that count: "12.34", "1,234".
function text(value) {
  if (value === undefined || value === null || !isFinite(value)) return '';
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(3);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(4)));
}

const percent = (share) => `${text(Math.round(share * 100))} %`;
const counted = (n, noun) => `${text(n)} ${noun}${n === 1 ? '' : 's'}`;
const ranged = ([value, low, high]) =>
  low === undefined ? text(value) : `${text(value)} (${text(low)} to ${text(high)})`;
// Its three cells in a table.
const three = (range) => [0, 1, 2].map((i) => range[i] === undefined ? '' : range[i]);
const gib = (range) => range && range.map((bytes) => bytes / 2 ** 30);

// "a", "a and b", "a, b and c".
const listed = (words) => words.length < 2 ? words.join('') :
  `${words.slice(0, -1).join(', ')} and ${words[words.length - 1]}`;
const cut = (words, length) => words.length > length ? `${words.slice(0, length - 1)}…` : words;
const tokens = (n) => n >= 1e12 ? `${text(n / 1e12)}T` : n >= 1e9 ? `${text(n / 1e9)}B` :
  n >= 1e6 ? `${text(n / 1e6)}M` : text(n);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Measured goes before estimated, and fewer days before more.
const days = (run) => (run.days || run.estimatedDays || [Infinity])[0];
function compareDays(a, b) {
  const rank = (run) => (run.out ? 2 : 0) + (run.days ? 0 : 1);
  return rank(a) - rank(b) || (days(a) === days(b) ? 0 : days(a) - days(b));
}

// The charts of single runs show the same ones, so that they can be read across.
const ranked = [...runs].sort(compareDays);

// The names of all series, the best first.
const seriesNames = [...new Set(ranked.map(seriesOf))];
