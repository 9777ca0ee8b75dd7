// A figure has a finding in words, menus if there are alternatives, a legend, the picture with
// tooltips, a note, and the data as a table.

const sample = (...children) =>
  drawn('svg', {width: 22, height: 14, 'aria-hidden': 'true'}, ...children);

// The sample in a legend entry, by the kind of the entry.
const kSamples = {
  series: (look) => drawn('path', {class: `mark s${look}`, d: kShapes[look % kShapes.length],
    transform: 'translate(11 7)'}),
  filled: () => drawn('path', {class: 'mark neutral', d: kShapes[0], transform: 'translate(11 7)'}),
  hollow: () => drawn('path', {class: 'mark estimated neutral', d: kShapes[0],
    transform: 'translate(11 7)'}),
  doubtful: () => drawn('path', {class: 'mark doubtful neutral', d: kShapes[0],
    transform: 'translate(11 7)'}),
  curve: (look) => drawn('path', {class: `curve s${look}`, d: 'M0 7h22',
    'stroke-dasharray': kDashes[look]}),
  resume: () => drawn('path', {class: 'resume neutral', d: kArrow, transform: 'translate(11 14)'}),
  limit: () => drawn('path', {class: 'limit', d: 'M11 0v14'}),
  exact: () => drawn('path', {class: 'exact', d: 'M0 7h22'}),
  tenth: () => drawn('path', {class: 'tenth', d: 'M0 7h22'}),
  bar: (look) => drawn('rect', {class: `group g${look}`, x: 1, y: 1, width: 20, height: 12}),
  cell: (look) => drawn('g', {class: `place q${look}`},
    drawn('rect', {class: 'mark cell', width: 22, height: 14})),
};

const legendElement = (entries) => element('ul', {class: 'legend'}, ...entries.map((entry) =>
  element('li', {}, kSamples[entry.kind] ? sample(kSamples[entry.kind](entry.look)) : '',
    entry.words)));

// The data table of a chart with alternatives; other charts have theirs in the HTML.
function dataTable({title, data: [head, ...rows]}) {
  const heading = `${title}: data`;
  const isNumber = (cell) => /^[-+]?[0-9][0-9.,]*( %)?$/.test(cell);
  const body = rows.map((row) => element('tr', {}, ...row.map((cell, i) => i === 0 ?
    element('th', {scope: 'row'}, cell) :
    element('td', isNumber(cell) ? {class: 'number'} : {}, cell))));
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...head.map((name) =>
      element('th', {scope: 'col'}, name)))), element('tbody', {}, ...body));
  return element('details', {class: 'data'}, element('summary', {}, 'Data of this chart'),
    element('div', {class: 'box', tabindex: '0', role: 'region', 'aria-label': heading}, table));
}

// The menus that choose between alternative charts: one menu per question, with the answers that
// are possible after the answers to the questions before it.
function choicesElement(figure, chart, all, questions) {
  const fields = questions.map((question, n) => {
    const same = all.filter(({answers}) =>
      answers.every((a, i) => i >= n || a === chart.answers[i]));
    const id = `${chart.name}-choice-${n}`;
    const select = element('select', {id}, ...[...new Set(same.map(({answers}) => answers[n]))]
      .map((value) => element('option', {value}, value)));
    select.value = chart.answers[n];
    select.addEventListener('change', () => {
      const found = same.filter(({answers}) => answers[n] === select.value);
      const kept = ({answers}) => answers.filter((a, i) => a === chart.answers[i]).length;
      show(figure, found.reduce((a, b) => kept(b) > kept(a) ? b : a), all, questions);
      document.getElementById(id).focus();
    });
    return element('label', {for: id}, question, select);
  });
  return element('div', {class: 'controls'}, ...fields);
}

let allTips = [];  // of all figures: a cursor over curves is shown in each

// Shows a tooltip at the mark that is pointed at, touched, or reached with the arrow keys.
class Tips {
  constructor(figure, svg) {
    Object.assign(this, {figure, svg, at: -1});
    allTips = [...allTips.filter((tips) => tips.figure !== figure), this];
    this.tip = element('p', {class: 'tip', role: 'status', hidden: ''});
    figure.append(this.tip);
    svg.setAttribute('tabindex', '0');
    for (const name of ['pointermove', 'pointerdown'])
      svg.addEventListener(name, (event) => this.point(event));
    svg.addEventListener('pointerleave', () => this.hide());
    svg.addEventListener('blur', () => this.hide());
    svg.addEventListener('keydown', (event) => this.key(event));
  }

  hide() {
    for (const tips of allTips) tips.clear();
  }

  clear() {
    this.tip.hidden = true;
    for (const mark of this.svg.querySelectorAll('.at')) mark.classList.remove('at');
    for (const cursor of this.svg.querySelectorAll('.cursor')) cursor.remove();
  }

  say(lines, x, y) {
    this.tip.replaceChildren(...lines.flatMap((line, i) => i ? [element('br'), line] : [line]));
    this.tip.hidden = false;
    const room = this.figure.clientWidth - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, x - this.tip.offsetWidth / 2))}px`;
    this.tip.style.top = `${y - this.tip.offsetHeight - 10}px`;
  }

  showMark(mark) {
    this.hide();
    mark.classList.add('at');
    const [own, frame] = [mark.getBoundingClientRect(), this.figure.getBoundingClientRect()];
    this.say([mark.dataset.tip], (own.left + own.right) / 2 - frame.left, own.top - frame.top);
  }

  curveFrames() {
    return (this.svg.frames || []).filter(({panel}) => panel.marks.some((mark) => mark.line));
  }

  // Shows a cursor in a frame, and at the same step in the other figures.
  showCursor(frame, x) {
    this.hide();
    const {title, low, high} = frame.axis;
    const value = low + (x - frame.left) / (frame.right - frame.left) * (high - low);
    for (const tips of allTips)
      tips.drawCursors(value, tips === this ? [frame] : tips.curveFrames().filter(({axis}) =>
        axis.title === title && value >= axis.low && value <= axis.high));
  }

  // Draws the cursors at a value and shows the nearest point of each curve.
  drawCursors(value, frames) {
    const lines = frames.flatMap((frame) => {
      const x = frame.x(value);
      this.svg.append(drawn('line',
        {class: 'cursor', x1: x, x2: x, y1: frame.top, y2: frame.bottom}));
      const place = (point) => Math.abs(point[0] - value);
      return frame.panel.marks.map((mark) => {
        const [a, b] = mark.line.reduce((one, other) => place(other) < place(one) ? other : one);
        return `${mark.tooltip}: ${text(b)} at ${text(a)}`;
      });
    });
    if (frames.length === 0) return;
    this.say(lines, frames[0].x(value), this.svg.getBoundingClientRect().top + frames[0].top -
      this.figure.getBoundingClientRect().top);
  }

  point(event) {
    const mark = event.target.closest('[data-tip]');
    if (mark) return this.showMark(mark);
    const box = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const frame = this.svg.frames.find(({left, right, top, bottom, panel}) => x >= left &&
      x <= right && y >= top && y <= bottom && panel.marks.some((mark) => mark.line));
    return frame ? this.showCursor(frame, x) : this.hide();
  }

  key(event) {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (event.key === 'Escape') this.hide();
    if (!step) return;
    event.preventDefault();
    const [frame] = this.curveFrames();
    const marks = this.svg.querySelectorAll('.mark[data-tip]');
    const n = frame ? 50 : marks.length;
    this.at = (this.at + step + n) % n;
    const share = (this.at + 0.5) / n;
    if (frame) this.showCursor(frame, frame.left + share * (frame.right - frame.left));
    else this.showMark(marks[this.at]);
  }
}

const observers = new WeakMap();  // by figure

function show(figure, chart, all, questions) {
  const id = chart.name;
  const svg = drawn('svg', {role: 'img', class: 'picture', 'aria-labelledby': `${id}-t ${id}-d`},
    drawn('title', {id: `${id}-t`}, chart.title), drawn('desc', {id: `${id}-d`}, chart.finding));
  figure.replaceChildren(
    element('figcaption', {}, element('p', {class: 'finding'}, chart.finding)),
    ...(all.length > 1 ? [choicesElement(figure, chart, all, questions)] : []),
    legendElement(chart.legend), svg,
    ...(chart.note ? [element('p', {class: 'note'}, chart.note)] : []),
    chart.data ? dataTable(chart) : figure.querySelector('.data'));
  const tips = new Tips(figure, svg);
  let width;
  const redraw = () => {
    width = figure.clientWidth;
    const wide = Math.max(260, Math.floor(width));
    tips.clear();
    svg.replaceChildren(...[...svg.children].slice(0, 2));
    const height = drawChart(svg, chart, wide);
    filled(svg, {viewBox: `0 0 ${wide} ${height}`, width: wide, height}, []);
  };
  redraw();
  if (observers.has(figure)) observers.get(figure).disconnect();
  const observer = new ResizeObserver(() => requestAnimationFrame(() => {
    if (Math.abs(figure.clientWidth - width) >= 2 && !matchMedia('print').matches) redraw();
  }));
  observer.observe(figure);
  observers.set(figure, observer);
}
