// Draws any chart. The data has all numbers in the units of the axes and all strings formatted; the
// script computes only the layout, which depends on the width.

const kMargin = {top: 12, right: 16, bottom: 44, left: 62};
const kShapes = ['M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z', 'M-4 -4h8v8h-8z',
  'M0 -5.2L5 4h-10z', 'M0 -6L4.5 0L0 6L-4.5 0z', 'M0 5.2L5 -4h-10z',
  'M-1.8 -5.2h3.6v3.4h3.4v3.6h-3.4v3.4h-3.6v-3.4h-3.4v-3.6h3.4z', 'M-5.5 -2.2h11v4.4h-11z'];
const kDashes = [undefined, '7 3', '2 3', '9 3 2 3', '12 4', '4 2 1 2', '1 2', '14 3 3 3'];
const kLow = 120;   // up to this height, a frame has no room for a title beside its y axis
const kBold = 7.7;  // width of a letter of a label
const kArrow = 'M0 -3l-5 -9h10z';
const kCell = {least: 24, most: 76, height: 30, gap: 28};

// Maps the values of an axis to coordinates; values beyond its ends are clamped.
function scaleOf({low, high, log}, from, to) {
  const share = (v) => log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low);
  return (v) => from + (to - from) * share(Math.min(high, Math.max(low, v)));
}

// The ticks whose labels do not overlap. room: returns the length that a label needs.
function apart(ticks, scale, room) {
  let last;
  return ticks.filter(([value, words], i) => {
    const need = room(words) / 2 + (i > 0 ? room(last ? last[1] : '') / 2 : 0);
    if (last && Math.abs(scale(value) - scale(last[0])) < need) return false;
    last = [value, words];
    return true;
  });
}

const words = (x, y, anchor, text, kind) =>
  drawn('text', {x, y, 'text-anchor': anchor, class: kind}, text);

function xAxis(svg, {axis, x, left, right, top, bottom}) {
  const made = drawn('g', {class: 'axis'});
  for (const [value, text] of apart(axis.ticks, x, (words) => 12 + 6.5 * words.length))
    made.append(drawn('line', {class: 'grid', x1: x(value), x2: x(value), y1: top, y2: bottom}),
      words(x(value), bottom + 16, 'middle', text));
  if (axis.title)
    made.append(words((left + right) / 2, bottom + 36, 'middle', axis.title, 'label'));
  svg.append(made);
}

function yAxis(svg, axis, {y, left, right, top, bottom}) {
  const made = drawn('g', {class: 'axis'});
  for (const [value, text] of apart(axis.ticks, y, () => 18))
    made.append(drawn('line', {class: 'grid', x1: left, x2: right, y1: y(value), y2: y(value)}),
      drawn('text', {x: left - 8, y: y(value), dy: '0.32em', 'text-anchor': 'end'}, text));
  if (axis.title && bottom - top > kLow)
    made.append(drawn('text', {class: 'label', 'text-anchor': 'middle',
      transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`}, axis.title));
  svg.append(made);
}

const path = (places, {x, y}) => `M${places.map(([a, b]) => `${x(a)} ${y(b)}`).join('L')}`;

function drawRule(svg, rule, frame) {
  svg.append(drawn('path', {class: `${rule.kind} s${rule.look}${rule.hollow ? ' estimated' : ''}`,
    'data-tip': rule.tooltip, d: path(rule.line, frame)}));
}

const classOf = (mark) => ['mark', mark.hollow ? 'estimated' : 'measured', mark.faint && 'faint',
  mark.doubtful && 'doubtful', `s${mark.look}`].filter(Boolean).join(' ');

// Draws a shape and, if the mark has limits, a line between them.
function drawPoint(svg, mark, {x, y, rows}) {
  if (mark.low !== undefined) {
    const at = rows ? {x1: x(mark.low), x2: x(mark.high), y1: y(mark.y), y2: y(mark.y)} :
      {x1: x(mark.x), x2: x(mark.x), y1: y(mark.low), y2: y(mark.high)};
    svg.append(drawn('line', {class: classOf(mark).replace('mark', 'limits'), ...at}));
  }
  svg.append(drawn('path', {class: classOf(mark), 'data-run': mark.run, 'data-tip': mark.tooltip,
    d: kShapes[mark.look % kShapes.length],
    transform: `translate(${x(mark.x)} ${y(mark.y)})${mark.faint ? ' scale(0.8)' : ''}`}));
}

function drawBar(svg, mark, {x, y}) {
  svg.append(drawn('rect', {class: `mark group g${mark.look}`, 'data-run': mark.run,
    'data-row': mark.y, 'data-tip': mark.tooltip, x: x(mark.low), y: y(mark.y) - 6.5, height: 13,
    width: Math.max(0.5, x(mark.high) - x(mark.low))}));
}

function drawCurve(svg, mark, frame) {
  svg.append(drawn('path', {class: `mark curve s${mark.look}`, 'data-run': mark.run,
    'stroke-dasharray': kDashes[mark.look % kDashes.length], d: path(mark.line, frame)}));
  for (const [a, b] of mark.resumes || [])
    svg.append(drawn('path', {class: `resume s${mark.look}`, d: kArrow,
      'data-tip': `${mark.tooltip}: resumed at ${text(a)}`,
      transform: `translate(${frame.x(a)} ${frame.y(b)})`}));
}

function drawCell(svg, mark, {x, y}) {
  const width = x(1) - x(0), height = kCell.height;
  const made = drawn('g', {class: `place ${mark.shade === undefined ? 'none' : `q${mark.shade}`}`,
    transform: `translate(${x(mark.x) - width / 2} ${y(mark.y) - height / 2})`});
  made.append(drawn('path', {class: 'mark cell', 'data-run': mark.run, 'data-tip': mark.tooltip,
    d: `M1 1h${width - 2}v${height - 2}h${2 - width}z`}));
  if (mark.shade === undefined)
    made.append(drawn('path', {class: 'crossed', d: `M1 ${height - 1}L${width - 1} 1`}));
  if (mark.best)
    made.append(drawn('rect', {class: 'first', x: 2, y: 2, width: width - 4, height: height - 4}));
  made.append(drawn('text', {class: mark.bold ? 'in-cell measured' : 'in-cell', x: width / 2,
    y: height / 2, dy: '0.34em', 'text-anchor': 'middle'}, cut(mark.words, width / 6.5)));
  svg.append(made);
}

const kDraw = {points: drawPoint, bars: drawBar, lines: drawCurve, grid: drawCell};

function drawContent(svg, kind, panel, frame) {
  const order = (mark) => mark.hollow ? 0 : 1;  // measured marks are on top
  for (const rule of panel.rules) drawRule(svg, rule, frame);
  for (const mark of [...panel.marks].sort((a, b) => order(a) - order(b)))
    kDraw[kind](svg, mark, frame);
}

// Draws a panel of rows. Labels are to the left of the rows if there is room, else above them.
function drawRows(svg, kind, panel, top, width) {
  const longest = Math.max(...panel.rows.map((row) => (row.label || '').length));
  const kinds = panel.rows.some((row) => row.kind) ? 66 : 0;
  const beside = width >= 600 ? Math.min((kinds ? 0.42 : 0.5) * width, 24 + kBold * longest) : 0;
  const ends = panel.rows.some((row) => row.end) ? 70 : 14;
  const left = beside + kinds + (beside ? 0 : 8);
  const band = kind === 'bars' ? 17 : 22;
  const middles = [], texts = [];
  let at = top;
  for (const {label, kind: word, end} of panel.rows) {
    if (label && at > top && kinds) at += 7;
    if (label && !beside) at += 18;
    middles.push(at + band / 2);
    if (label)
      texts.push(words(beside ? beside - 12 : 0, beside ? at + band / 2 + 4 : at - 3,
        beside ? 'end' : 'start', cut(label, (beside ? beside - 12 : width) / kBold), 'run'));
    if (word) texts.push(words(left - 6, at + band / 2 + 4, 'end', word, 'kind'));
    if (end) texts.push(words(width - ends + 6, at + band / 2 + 4, 'start', end, 'value'));
    at += band;
  }
  const y = (v) => middles[Math.round(v)] + (v - Math.round(v)) * band;
  const frame = {axis: panel.x, x: scaleOf(panel.x, left, width - ends), y, rows: true, left,
    right: width - ends, top, bottom: at + 4};
  xAxis(svg, frame);
  svg.append(...texts);
  drawContent(svg, kind, panel, frame);
  return at + 4 + kMargin.bottom;
}

// Draws a panel with two axes.
function drawFrame(svg, kind, panel, top, width, height) {
  const side = panel.square ? Math.min(width, 560) : width;
  const isLow = !panel.square && height <= kLow;
  const title = [panel.title, isLow && panel.y.title].filter(Boolean).join(' · ');
  const titled = title ? 24 : 0;
  if (titled) svg.append(words(0, top + 13, 'start', cut(title, width / kBold), 'run'));
  const bottom = top + titled + (panel.square ? side - kMargin.bottom : height);
  const frame = {axis: panel.x, left: kMargin.left, right: side - kMargin.right,
    top: top + titled + kMargin.top, bottom};
  frame.x = scaleOf(panel.x, frame.left, frame.right);
  frame.y = scaleOf(panel.y, bottom, frame.top);
  yAxis(svg, panel.y, frame);
  xAxis(svg, frame);
  drawContent(svg, kind, panel, frame);
  svg.frames.push({...frame, panel});
  return bottom + kMargin.bottom;
}

// Draws grids side by side while there is room, then in a new line.
function drawGrids(svg, panels, width) {
  let left = 0, top = 0, lowest = 0;
  for (const panel of panels) {
    const labels = 14 + 7 * Math.max(...panel.rows.map(({label}) => Math.min(14, label.length)));
    const n = panel.x.ticks.length;
    const cell = Math.max(kCell.least, Math.min(kCell.most, (width - labels) / n));
    if (left > 0 && left + labels + cell * n > width) [left, top] = [0, lowest + kCell.gap];
    const x = (v) => left + labels + (v + 0.5) * cell;
    const y = (v) => top + 42 + (v + 0.5) * kCell.height;
    const room = (labels + cell * n) / kBold;
    svg.append(words(left, top + 13, 'start', cut(panel.title, room), 'run'));
    const axis = drawn('g', {class: 'axis'});
    for (const [value, text] of panel.x.ticks)
      axis.append(words(x(value), top + 34, 'middle', cut(text, cell / 7)));
    panel.rows.forEach(({label}, i) =>
      axis.append(words(left + labels - 6, y(i) + 4, 'end', cut(label, 14))));
    svg.append(axis);
    drawContent(svg, 'grid', panel, {x, y});
    lowest = Math.max(lowest, y(panel.rows.length - 0.5));
    left += labels + cell * n + kCell.gap;
  }
  return lowest + 8;
}

// Each part of a bar has a pattern besides its colour: none, empty, lines, dots, reverse lines.
function addPatterns(svg) {
  const pattern = (look, size, name, attributes) => drawn('pattern', {id: `pattern-${look}`,
    width: size, height: size, patternUnits: 'userSpaceOnUse'},
    drawn('rect', {class: `pattern-ground g${look}`, width: size, height: size}),
    drawn(name, attributes));
  svg.append(drawn('defs', {},
    pattern(2, 6, 'path', {class: 'pattern-line', d: 'M-1 1l2 -2M0 6l6 -6M5 7l2 -2'}),
    pattern(3, 5, 'circle', {class: 'pattern-dot', cx: 2.5, cy: 2.5, r: 1.1}),
    pattern(4, 6, 'path', {class: 'pattern-line', d: 'M-1 5l2 2M0 0l6 6M5 -1l2 2'})));
}

// Draws the chart and returns its height.
function drawChart(svg, chart, width) {
  svg.frames = [];
  if (chart.kind === 'grid') return drawGrids(svg, chart.panels, width);
  if (chart.kind === 'bars') addPatterns(svg);
  const alone = Math.round(Math.min(420, Math.max(280, width * 0.5))) - kMargin.bottom;
  let top = 0;
  for (const panel of chart.panels)
    top = panel.rows.length > 0 ? drawRows(svg, chart.kind, panel, top, width) :
      drawFrame(svg, chart.kind, panel, top, width, chart.panels.length > 1 ? 96 : alone);
  return top;
}
