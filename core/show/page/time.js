// Where the time of a step goes: a bar of groups per run, estimated and measured.

const kGroups = ['compute', 'bubble', 'communication', 'optimizer', 'other'];

const total = (items) => d3.sum(Object.values(items));

// Besides its colour each group has a pattern: none, empty, lines, dots, lines the other way.
function addPatterns(svg) {
  const defs = svg.append('defs');
  const pattern = (name, size) => {
    const made = defs.append('pattern').attr('id', `pattern-${name}`).attr('width', size)
      .attr('height', size).attr('patternUnits', 'userSpaceOnUse');
    made.append('rect').attr('class', `pattern-ground ${name}`).attr('width', size)
      .attr('height', size);
    return made;
  };
  const lines = (name, path) =>
    pattern(name, 6).append('path').attr('class', 'pattern-line').attr('d', path);
  lines('communication', 'M-1 1l2 -2M0 6l6 -6M5 7l2 -2');
  lines('other', 'M-1 5l2 2M0 0l6 6M5 -1l2 2');
  pattern('optimizer', 5).append('circle').attr('class', 'pattern-dot').attr('cx', 2.5)
    .attr('cy', 2.5).attr('r', 1.1);
}

function groupSample(name) {
  return sample((svg) => svg.append('rect').attr('class', `group ${name}`).attr('x', 1).attr('y', 1)
    .attr('width', 20).attr('height', 12));
}

function drawBar(svg, {run, kind, items}, y, scale, asShare) {
  const unit = asShare ? total(items) : 1;
  let seconds = 0;
  for (const name of kGroups) {
    if (!items[name]) continue;
    const from = scale(seconds / unit);
    seconds += items[name];
    const rect = svg.append('rect').attr('class', `mark group ${name}`).attr('data-run', run.index)
      .attr('data-kind', kind)
      .attr('x', from).attr('width', Math.max(0.5, scale(seconds / unit) - from))
      .attr('y', y).attr('height', 13);
    rect.append('title').text(`${run.id || ''}: ${name} ${text(items[name])} s of ` +
      `${text(total(items))} s, ${percent(items[name] / total(items))}, ${kind}`);
  }
  svg.append('text').attr('class', 'value').attr('x', scale(seconds / unit) + 5).attr('y', y + 10.5)
    .text(`${text(seconds)} s`);
}

function timeFinding(shown) {
  const run = shown[0];
  const items = run.items || run.estimatedItems;
  const parts = kGroups.filter((name) => items[name] >= 0.005 * total(items)).sort((a, b) => items[b] - items[a])
    .map((name) => `${name} ${percent(items[name] / total(items))}`);
  return `Of a step of ${cut(run.id || 'the first run', 60)}: ${listed(parts)} ` +
    `(${run.items ? 'measured' : 'estimated'}, ${text(total(items))} s).`;
}

function timeBars(shown) {
  return shown.flatMap((run) => [['estimated', run.estimatedItems], ['measured', run.items]]
    .filter(([, items]) => items).map(([kind, items]) => ({run, kind, items})));
}

function timeChart(as = 'seconds') {
  const asShare = as === 'share';
  const all = ranked.filter((run) => run.items || run.estimatedItems);
  if (all.length === 0) return null;
  const shown = bestFirst(all);
  const bars = timeBars(shown);
  const draw = (svg, width) => {
    addPatterns(svg);
    const scale = d3.scaleLinear().domain([0, asShare ? 1 : d3.max(bars, (bar) => total(bar.items))])
      .range([66, width - 64]);
    let y = 4;
    for (const some of grouped(bars, (bar) => bar.run.index).values()) {
      rowLabel(svg, some[0].run, y - 2, width);
      y += 17;
      for (const bar of some) {
        svg.append('text').attr('class', 'kind').attr('x', 60).attr('y', y + 10.5)
          .attr('text-anchor', 'end').text(bar.kind);
        drawBar(svg, bar, y, scale, asShare);
        y += 16;
      }
      y += 8;
    }
    return y;
  };
  return {
    choices: [{label: 'Bars', value: as, choose: timeChart, options: [
      {value: 'seconds', words: 'seconds of a step'}, {value: 'share', words: 'shares of a step'}]}],
    finding: timeFinding(shown), draw, note: leftOut(all.length, kSingle, 'run'),
    legend: kGroups.filter((name) => bars.some((bar) => bar.items[name]))
      .map((name) => ({picture: groupSample(name), words: name})),
    columns: ['Run', 'Kind', ...kGroups.map((name) => `${name} ${asShare ? '%' : 's'}`), 'Step s'],
    rows: bars.map(({run, kind, items}) => [run.id || '', kind, ...kGroups.map((name) =>
      items[name] ? items[name] * (asShare ? 100 / total(items) : 1) : ''), total(items)]),
  };
}
