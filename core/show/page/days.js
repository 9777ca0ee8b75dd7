// Days per 100B tokens by number of GPUs: of each strategy the best run on so many GPUs, measured
// and estimated.

// Of the runs on as many GPUs the one with the least of something; with -1, the most.
function bestByGpus(all, key, sign = 1) {
  return [...grouped(all.filter((run) => run[key]), (run) => run.gpus).values()]
    .map((some) => some.reduce((a, b) => sign * b[key][0] < sign * a[key][0] ? b : a))
    .sort((a, b) => a.gpus - b.gpus);
}

function daysSeries(usable) {
  return new Map([...grouped(usable, seriesOf)].map(([name, some]) => [name,
    {measured: bestByGpus(some, 'days'), estimated: bestByGpus(some, 'estimatedDays')}]));
}

// What was measured, where anything was: an estimate of another model would say little beside it.
function daysFinding(all) {
  const every = [...all].flatMap(([name, {measured, estimated}]) => [
    ...measured.map((run) => ({name, run, value: run.days[0], kind: 'measured'})),
    ...estimated.filter((run) => !run.days)
      .map((run) => ({name, run, value: run.estimatedDays[0], kind: 'estimated'}))]);
  const measured = every.filter((p) => p.kind === 'measured');
  const points = measured.length > 0 ? measured : every;
  const best = points.reduce((a, b) => b.value < a.value ? b : a);
  const counts = [...new Set(points.map((p) => p.run.gpus))].sort((a, b) => a - b);
  const first = points.filter((p) => p.run.gpus === counts[0])
    .reduce((a, b) => b.value < a.value ? b : a);
  const words = (p) =>
    `${text(p.value)} days with ${p.name} on ${counted(p.run.gpus, 'GPU')}, ${p.kind}`;
  const other = counts.length > 1 && first !== best ?
    ` The best on the fewest GPUs: ${words(first)}.` : '';
  return `Fewest: ${words(best)} (${cut(best.run.id || 'no name', 60)}).${other}`;
}

function daysPoints(all, shown) {
  return shown.flatMap(({name, i}) => ['estimated', 'measured'].flatMap((kind) =>
    all.get(name)[kind].map((run) =>
      ({run, kind, i, name, range: kind === 'measured' ? run.days : run.estimatedDays}))));
}

// Only the number of GPUs differs, and what follows from it.
const areRelated = (a, b) => (a.strong !== undefined && a.strong === b.strong) ||
  (a.weak !== undefined && a.weak === b.weak);

function drawLines(svg, points, x, y) {
  for (const some of grouped(points, (p) => `${p.i} ${p.kind}`).values())
    for (const pair of d3.pairs(some).filter(([a, b]) => areRelated(a.run, b.run)))
      svg.append('path').attr('class', `line ${some[0].kind} s${some[0].i}`)
        .attr('d', d3.line().x(x).y((p) => y(p.range[0]))(pair));
}

const seriesSamples = (shown) => shown.map(({name, i}) =>
  ({picture: shapeSample(i, 'measured'), words: cut(name, 60)}));

const kKinds = {measured: 'filled: measured', estimated: 'hollow: estimated'};
const kLimits = {measured: ', 95 % interval', estimated: ', 90 % range'};

function seriesLegend(shown, points) {
  const entries = seriesSamples(shown);
  for (const kind of ['measured', 'estimated']) {
    const some = points.filter((p) => p.kind === kind);
    const limits = some.some((p) => p.range[1] !== undefined) ? kLimits[kind] : '';
    if (some.length > 0) entries.push({picture: kindSample(kind), words: kKinds[kind] + limits});
  }
  return entries;
}

const kindSample = (kind) => sample((svg) => {
  svg.append('line').attr('class', `limits ${kind} neutral`).attr('x1', 11).attr('x2', 11)
    .attr('y1', 0).attr('y2', 14);
  svg.append('path').attr('class', `mark ${kind} neutral`).attr('transform', 'translate(11 7)')
    .attr('d', shape(0, 40));
});

const hasDays = (run) => run.gpus && (run.days || run.estimatedDays);

function daysChart() {
  const usable = ranked.filter((run) => !run.out && hasDays(run));
  if (usable.length === 0) return null;
  if (!several(usable.map((run) => run.gpus)))
    return rankingChart(usable.sort((a, b) => days(a) - days(b)));
  const all = daysSeries(usable);
  const {shown, note} = firstSeries([...all.keys()]);
  const points = daysPoints(all, shown);
  const counts = [...new Set(points.map((p) => p.run.gpus))].sort((a, b) => a - b);
  const draw = (svg, width) => {
    const height = heightFor(width);
    const bottom = height - kMargin.bottom;
    const gpus = gpuScale(counts, width);
    const spread = Math.min(7, 40 / shown.length);
    const place = new Map(shown.map(({i}, n) => [i, spread * (n - (shown.length - 1) / 2)]));
    const x = (p) => gpus(p.run.gpus) + place.get(p.i);
    const y = logScale(points.flatMap((p) => p.range), [bottom, kMargin.top]);
    yAxis(svg, y, apart(decades(y), y, 18), width, 'days per 100B tokens');
    xAxis(svg, gpus, apart(counts, gpus, 34), bottom, kMargin.top, 'GPUs');
    drawLines(svg, points, x, y);
    for (const p of points)
      drawRange(svg, p, (value) => [x(p), y(value)],
        `${ranged(p.range)} days, ${p.kind}, ${counted(p.run.gpus, 'GPU')}`);
    return height;
  };
  return {
    heading: 'Days per 100B tokens by number of GPUs',
    finding: daysFinding(all), legend: seriesLegend(shown, points), draw,
    note: notes('Each mark is the best run of its series on so many GPUs; lines join runs that ' +
      'differ only in that number and what follows from it.', note, notCounted(hasDays)),
    columns: ['Series', 'GPUs', 'Kind', 'Days', 'Low', 'High', 'Run'],
    rows: points.map((p) => [p.name, p.run.gpus, p.kind, ...three(p.range), p.run.id || '']),
  };
}
