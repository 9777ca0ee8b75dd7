// Reads the data of the page, formats numbers and creates elements. For security, strings of runs
// become only text nodes and attributes, never HTML.

const read = (id) => JSON.parse(document.getElementById(id).textContent);

// Four significant digits: "12.34", "1,234".
function text(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return value.toExponential(3);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(4)));
}

const counted = (n, noun) => `${text(n)} ${noun}${n === 1 ? '' : 's'}`;
const cut = (words, length) => words.length > length ?
  `${words.slice(0, Math.max(1, length - 1))}…` : words;

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const element = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);
const drawn = (name, attributes = {}, ...children) =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
