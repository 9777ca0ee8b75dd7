// Shows how two runs that are chosen in the table differ, below the controls of the table.

// Names under "Where it is from" that belong to one run. Versions, commit and nodes are
// compared, since they may explain a difference.
const kOwn = new Set(['id', 'kind', 'source', 'table', 'file', 'lines', 'date', 'start', 'end',
  'experiment', 'experiment file', 'job']);

class Difference {
  constructor(place) {
    this.chosen = [];
    this.panel = element('div', {id: 'difference', 'aria-live': 'polite', hidden: ''});
    place.before(this.panel);
  }

  // A third choice replaces the first.
  choose(item, box) {
    this.chosen = this.chosen.filter((held) => held.item !== item);
    if (box.checked) this.chosen.push({item, box});
    if (this.chosen.length > 2) this.chosen.shift().box.checked = false;
    this.show();
  }

  clear() {
    for (const {box} of this.chosen) box.checked = false;
    this.chosen = [];
    this.show();
  }

  show() {
    this.panel.hidden = this.chosen.length === 0;
    if (this.chosen.length === 1)
      this.panel.replaceChildren(element('p', {}, `${this.name(0)}: choose one more run to see ` +
        'how they differ.'));
    if (this.chosen.length < 2) return;
    const close = element('button', {type: 'button'}, 'Close');
    close.addEventListener('click', () => this.clear());
    const head = element('tr', {}, ...['', this.name(0), this.name(1), 'Second of first']
      .map((text) => element('th', {scope: 'col'}, text)));
    const rows = this.rows();
    this.panel.replaceChildren(element('h3', {}, `${this.name(0)} and ${this.name(1)}`), close,
      rows.length === 0 ? element('p', {}, 'Nothing that is known of them differs.') :
        element('div', {class: 'box', tabindex: '0', role: 'region', 'aria-label': 'Difference'},
          element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows))));
  }

  name(n) {
    return this.chosen[n].item.name;
  }

  rows() {
    const [first, second] = this.chosen.map(({item}) => valuesOf(item));
    const out = [];
    for (const [heading, names] of first.names(second)) {
      const differing = names.map((name) => [name, first.get(heading, name),
        second.get(heading, name)]).filter(([, a, b]) => a !== b);
      if (differing.length === 0) continue;
      out.push(element('tr', {}, element('th', {colspan: 4, scope: 'rowgroup'}, heading)));
      for (const [name, a, b] of differing)
        out.push(element('tr', {}, element('th', {scope: 'row'}, name), element('td', {}, a),
          element('td', {}, b), element('td', {class: 'number'}, timesText(a, b))));
    }
    return out;
  }
}

// A map of names to values; a name that occurs twice gets both values.
function joined(pairs) {
  const out = new Map();
  for (const [name, value] of pairs)
    out.set(name, out.has(name) ? `${out.get(name)}; ${value}` : value);
  return out;
}

// The values in the chapters of a run, by heading and name.
function valuesOf(item) {
  const all = new Map(chaptersOf(item).map(([heading, pairs]) => [heading,
    joined(pairs.filter(([name]) => heading !== 'Where it is from' || !kOwn.has(name)))]));
  return {
    all,
    get: (heading, name) => (all.get(heading) || new Map()).get(name) || '',
    names: (other) => [...new Set([...all.keys(), ...other.all.keys()])].map((heading) =>
      [heading, [...new Set([all, other.all].flatMap((each) =>
        [...(each.get(heading) || new Map()).keys()]))]]),
  };
}

// The ratio, as "1.25×", if both are positive numbers with the same unit and kind; else empty.
function timesText(a, b) {
  const number = /^([0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)(?![0-9A-Za-z.]|-[0-9])(.*)$/;
  const [first, second] = [a, b].map((words) => number.exec(words));
  const unit = ([, , rest]) => rest.replace(/ \((?:95|90) % [^)]*\)/, '').replace(/[0-9][0-9.,]*/g, '#');
  if (!first || !second || unit(first) !== unit(second)) return '';
  const [from, to] = [first, second].map(([, digits]) => Number(digits.replaceAll(',', '')));
  return from > 0 && to > 0 ? `${(to / from).toPrecision(3)}×` : '';
}
