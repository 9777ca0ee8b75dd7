// Memory of the fullest GPU against what a run can use there.

function memoryLines(shown) {
  return shown.map((run) => ({
    run, measured: gib(run.memory), estimated: gib(run.estimatedMemory),
    limit: run.limit && run.limit / 2 ** 30,
  }));
}

function memoryFinding(lines) {
  const value = (line) => (line.measured || line.estimated)[0];
  const limited = lines.filter((line) => line.limit);
  if (limited.length === 0) {
    const most = lines.reduce((a, b) => value(b) > value(a) ? b : a);
    return `The fullest: ${cut(most.run.id || 'no name', 60)} with ${text(value(most))} GiB. ` +
      'No limit is known.';
  }
  const share = (line) => value(line) / line.limit;
  const most = limited.reduce((a, b) => share(b) > share(a) ? b : a);
  const over = limited.filter((line) => share(line) > 1).length;
  const who = over === 0 ? 'No run shown is' : over === 1 ? '1 run shown is' :
    `${over} runs shown are`;
  return `${who} over the limit; the fullest, ${cut(most.run.id || 'no name', 60)}, takes ` +
    `${percent(share(most))} of ${text(most.limit)} GiB ` +
    `(${most.measured ? 'measured' : 'estimated'}).`;
}

function drawMemory(svg, line, y, scale) {
  const {run, measured, estimated, limit} = line;
  const value = (measured || estimated)[0];
  svg.append('rect').attr('class', 'ground').attr('x', scale(0)).attr('y', y + 4)
    .attr('width', Math.max(0, scale(value) - scale(0))).attr('height', 6);
  if (limit)
    svg.append('path').attr('class', 'limit').attr('d', `M${scale(limit)} ${y - 2}v18`)
      .append('title').text(`${run.id || ''}: limit ${text(limit)} GiB`);
  if (estimated)
    drawRange(svg, {run, kind: 'estimated', i: 0, range: estimated},
      (value) => [scale(value), y + 7], `${ranged(estimated)} GiB estimated`);
  if (measured)
    mark(svg, 'measured', 4, run, `${run.id || ''}: ${text(measured[0])} GiB measured`)
      .attr('d', shape(3)).attr('transform', `translate(${scale(measured[0])} ${y + 7})`);
}

function memoryLegend(lines) {
  const entries = [];
  if (lines.some((line) => line.measured))
    entries.push({words: 'measured', picture: sample((svg) => svg.append('path').attr('d', shape(3))
      .attr('class', 'mark measured s4').attr('transform', 'translate(11 7)'))});
  if (lines.some((line) => line.estimated))
    entries.push({words: 'estimated, 90 % range', picture: shapeSample(0, 'estimated')});
  if (lines.some((line) => line.limit))
    entries.push({words: 'limit', picture: sample((svg) => svg.append('path').attr('class', 'limit')
      .attr('d', 'M11 0v14'))});
  return [...entries, ...doubtfulLegend(lines.map((line) => line.run))];
}

// How full a run makes the GPU; of those without a limit, in bytes.
const fullness = (run) => (run.memory || run.estimatedMemory)[0] / (run.limit || 1);

// Half of the places are for the best runs, half for the fullest of the others: those that do not
// fit are why one looks here.
function memoryShown(all) {
  const best = bestFirst(all, all.length <= kSingle ? kSingle : kSingle / 2);
  const others = all.filter((run) => !best.includes(run)).sort((a, b) => fullness(b) - fullness(a));
  return [...best, ...others.slice(0, kSingle - best.length)];
}

function memoryChart() {
  const all = ranked.filter((run) => run.memory || run.estimatedMemory);
  if (all.length === 0) return null;
  const lines = memoryLines(memoryShown(all));
  const draw = (svg, width) => {
    const most = d3.max(lines.flatMap((line) =>
      [...(line.measured || []), ...(line.estimated || []), line.limit || 0]));
    const scale = d3.scaleLinear().domain([0, most * 1.04]).range([8, width - 12]);
    const bottom = lines.length * 38 + 6;
    xAxis(svg, scale, scale.ticks(width < 500 ? 4 : 8), bottom, 0, 'GiB on the fullest GPU');
    lines.forEach((line, i) => {
      rowLabel(svg, line.run, i * 38, width);
      drawMemory(svg, line, i * 38 + 19, scale);
    });
    return bottom + kMargin.bottom;
  };
  return {
    finding: memoryFinding(lines), draw, legend: memoryLegend(lines),
    note: all.length > kSingle ? `The ${kSingle / 2} best of ${counted(all.length, 'run')} and the ` +
      `${kSingle / 2} fullest of the others; the table has them all.` : '',
    columns: ['Run', 'Measured GiB', 'Estimated GiB', 'Low', 'High', 'Limit GiB'],
    rows: lines.map(({run, measured, estimated, limit}) =>
      [run.id || '', measured ? measured[0] : '', ...three(estimated || []), limit || '']),
  };
}
