// What all charts share: a figure with a finding in words, a legend, the picture, a note on what is
// left out, and the data as a table.

const kSeries = 7;   // that eyes tell apart
const kSingle = 20;  // runs shown one below the other
const kShapes = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond,
  d3.symbolCross, d3.symbolStar, d3.symbolWye];

const shape = (i, size = 64) => d3.symbol().type(kShapes[i % kShapes.length]).size(size)();

function sample(draw) {
  const svg = d3.create('svg').attr('width', 22).attr('height', 14).attr('aria-hidden', 'true');
  draw(svg);
  return svg.node();
}

const shapeSample = (i, kind) => sample((svg) => svg.append('path')
  .attr('class', `mark ${kind} s${i}`).attr('transform', 'translate(11 7)').attr('d', shape(i)));

function legendElement(entries) {
  return element('ul', {class: 'legend'},
    ...entries.map(({picture, words}) => element('li', {}, picture, words)));
}

function dataTable(heading, columns, rows) {
  const head = element('tr', {}, ...columns.map((name) => element('th', {scope: 'col'}, name)));
  const body = rows.map((row) => element('tr', {}, ...row.map((cell, i) => i === 0 ?
    element('th', {scope: 'row'}, cell) :
    element('td', typeof cell === 'number' ? {class: 'number'} : {},
      typeof cell === 'number' ? text(cell) : cell || ''))));
  const table = element('table', {}, element('caption', {class: 'sr'}, heading),
    element('thead', {}, head), element('tbody', {}, ...body));
  return element('details', {class: 'data'}, element('summary', {}, 'Data of this chart'),
    element('div', {class: 'box', tabindex: '0', role: 'region', 'aria-label': heading}, table));
}

function picture(id, title, finding) {
  const svg = d3.create('svg').attr('role', 'img').attr('class', 'picture')
    .attr('aria-labelledby', `${id}-title ${id}-desc`);
  svg.append('title').attr('id', `${id}-title`).text(title);
  svg.append('desc').attr('id', `${id}-desc`).text(finding);
  return svg;
}

const observers = new WeakMap();  // of figures

// What a chart can be asked for: each choice makes another chart in its place.
function choicesElement(figure, choices) {
  const fields = choices.map(({label, value, options, choose}, i) => {
    const id = `${figure.dataset.chart}-choice-${i}`;
    const select = element('select', {id}, ...options.map((option) =>
      element('option', option.value === value ? {value: option.value, selected: ''} :
        {value: option.value}, option.words)));
    select.addEventListener('change', () => {
      show(figure, choose(select.value));
      document.getElementById(id).focus();
    });
    return element('label', {for: id}, label, select);
  });
  return element('div', {class: 'controls'}, ...fields);
}

// chart: {heading, finding, legend, note, columns, rows, draw(svg, width) -> height, choices}
function show(figure, chart) {
  const id = figure.dataset.chart;
  const heading = figure.parentElement.querySelector('h2').textContent;
  const svg = picture(id, heading, chart.finding);
  figure.replaceChildren(
    element('figcaption', {}, element('p', {class: 'finding'}, chart.finding)),
    ...(chart.choices && chart.choices.length > 0 ? [choicesElement(figure, chart.choices)] : []),
    legendElement(chart.legend), svg.node(),
    ...(chart.note ? [element('p', {class: 'note'}, chart.note)] : []),
    dataTable(`${heading}: data`, chart.columns, chart.rows));
  const redraw = () => {
    const width = Math.max(260, Math.floor(figure.clientWidth));
    svg.selectAll(':scope > :not(title):not(desc)').remove();
    const height = chart.draw(svg, width);
    svg.attr('viewBox', `0 0 ${width} ${height}`).attr('width', width).attr('height', height);
  };
  redraw();
  let drawn = figure.clientWidth;
  const before = observers.get(figure);
  if (before) before.disconnect();
  const observer = new ResizeObserver(() => requestAnimationFrame(() => {
    if (Math.abs(figure.clientWidth - drawn) < 2 || matchMedia('print').matches) return;
    drawn = figure.clientWidth;
    redraw();
  }));
  observer.observe(figure);
  observers.set(figure, observer);
}

// What a dashed mark means, where there is one.
const doubtfulLegend = (some) => some.some((run) => run.doubts) ? [{
  words: 'dashed: doubtful',
  picture: sample((svg) => svg.append('path').attr('class', 'mark doubtful neutral')
    .attr('transform', 'translate(11 7)').attr('d', shape(0))),
}] : [];

// A mark with words that appear when it is pointed at.
function mark(group, kind, series, run, words) {
  const made = group.append('path').attr('data-run', run.index)
    .attr('class', `mark ${kind} s${series}${run.doubts ? ' doubtful' : ''}`);
  made.append('title').text(words);
  return made;
}

// The mark of a number of a run, and a line between its limits. at: where a value is.
function drawRange(svg, {run, kind, i, range}, at, words) {
  if (range[1] !== undefined) {
    const [[x1, y1], [x2, y2]] = [at(range[1]), at(range[2])];
    svg.append('line').attr('class', `limits ${kind} s${i}`).attr('x1', x1).attr('x2', x2)
      .attr('y1', y1).attr('y2', y2);
  }
  const [x, y] = at(range[0]);
  mark(svg, kind, i, run, `${run.id || ''}: ${words}`)
    .attr('d', shape(i)).attr('transform', `translate(${x} ${y})`);
}

// The series that a chart shows, best first: each with its place among the colours and shapes,
// which is the same in all charts as long as there are enough of them.
function firstSeries(present) {
  const names = seriesNames.filter((name) => present.includes(name));
  const rest = names.slice(kSeries);
  return {
    shown: names.slice(0, kSeries).map((name, i) =>
      ({name, i: seriesNames.length > kSeries ? i : seriesNames.indexOf(name)})),
    note: rest.length === 0 ? '' :
      `Left out: ${rest.length} more series (${cut(listed(rest), 300)}). The table has them all.`,
  };
}

// Which runs with such a number are not drawn, and why.
function notCounted(has) {
  const reasons = grouped(runs.filter((run) => run.out && has(run)), (run) => run.out);
  const words = [...reasons].map(([why, some]) => `${why} (${text(some.length)})`);
  return words.length === 0 ? '' : `Left out: runs that ${words.join(' or ')}.`;
}
const notes = (...all) => all.filter(Boolean).join(' ');

// Of runs one below the other: the best of each series, then the best of what is left.
function bestFirst(all, most = kSingle) {
  const firsts = new Set([...grouped(all, seriesOf).values()].map((some) => some[0]));
  return [...firsts, ...all.filter((run) => !firsts.has(run))].slice(0, most);
}

const leftOut = (all, shown, what) => all <= shown ? '' :
  `The best of each series, then the best: ${shown} of ${counted(all, what)}; the table has them all.`;

// Charts of single runs have a line of words above each.
const manyCounts = several(runs.map((run) => run.gpus));
const runLabel = (run) => [run.id, run.strategy, manyCounts && run.gpus && counted(run.gpus, 'GPU')]
  .filter(Boolean).join(' · ');

function rowLabel(svg, run, y, width) {
  svg.append('text').attr('class', 'run').attr('x', 0).attr('y', y + 13)
    .text(cut(runLabel(run), Math.floor(width / 7.7)));
}
