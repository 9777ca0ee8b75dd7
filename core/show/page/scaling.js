// Scaling efficiency: tokens per second and GPU, relative to the fewest GPUs. Only runs of one
// family compare: all settings are the same but the number of GPUs, and the global batch is (strong
// scaling) or the batch of each rank is (weak scaling). Of each strategy and model the family with
// the most marks is shown.

const kFamilies = {strong: 'the same global batch', weak: 'the same batch on each rank'};

function efficiency(some, kind, key) {
  const fastest = bestByGpus(some, key, -1);
  if (fastest.length < 2) return [];
  const perGpu = (run) => run[key][0] / run.gpus;
  return fastest.map((run) =>
    ({run, kind, range: [perGpu(run) / perGpu(fastest[0])], perGpu: perGpu(run)}));
}

function familiesOf(some) {
  return Object.keys(kFamilies).flatMap((by) =>
    [...grouped(some.filter((run) => run[by]), (run) => run[by]).values()].map((members) => ({
      by, members,
      points: [...efficiency(members, 'estimated', 'estimatedRate'),
        ...efficiency(members, 'measured', 'rate')],
    })).filter((family) => family.points.length > 0));
}

// Two numbers of GPUs are a ratio, and no curve.
const isCurve = ({points}) => Object.keys(kKinds).some((kind) =>
  points.filter((p) => p.kind === kind).length > 2);

// What was measured goes before what is estimated, then more marks before fewer, then the faster.
function largest(families) {
  const rank = ({points}) => [points.filter((p) => p.kind === 'measured').length, points.length,
    d3.max(points, (p) => p.perGpu)];
  const isLarger = (a, b) => {
    const [x, y] = [rank(a), rank(b)];
    const i = x.findIndex((value, n) => value !== y[n]);
    return i >= 0 && x[i] > y[i];
  };
  return families.reduce((a, b) => isLarger(b, a) ? b : a);
}

function scalingSeries() {
  const usable = runs.filter((run) => run.gpus && !run.out);
  const all = [...grouped(usable, seriesOf)].map(([name, some]) => [name, familiesOf(some)]);
  if (!all.some(([, families]) => families.some(isCurve))) return new Map();
  return new Map(all.filter(([, families]) => families.length > 0)
    .map(([name, families]) => [name, {...largest(families), others: families.length - 1}]));
}

function scalingFinding(all, shown) {
  const words = shown.slice(0, 3).map(({name}) => {
    const {points, by} = all.get(name);
    const measured = points.filter((p) => p.kind === 'measured');
    const used = measured.length > 0 ? measured : points;
    const last = used[used.length - 1];
    return `${name} keeps ${percent(last.range[0])} of its throughput per GPU from ` +
      `${text(used[0].run.gpus)} to ${text(last.run.gpus)} GPUs with ${kFamilies[by]} ` +
      `(${last.kind})`;
  });
  return `${words.join('; ')}.`;
}

function scalingNote(all, note) {
  const others = d3.sum(all.values(), (family) => family.others);
  const same = 'The runs of a series differ only in their number of GPUs and what follows from it.';
  const more = others === 0 ? '' :
    `Of each series the configuration with the most marks; ${text(others)} more not drawn.`;
  return notes(same, more, note, notCounted((run) => run.gpus && (run.rate || run.estimatedRate)));
}

function scalingChart() {
  const all = scalingSeries();
  if (all.size === 0) return null;
  const {shown, note} = firstSeries([...all.keys()]);
  const points = shown.flatMap(({name, i}) => all.get(name).points.map((p) => ({...p, i, name})));
  const counts = [...new Set(points.map((p) => p.run.gpus))].sort((a, b) => a - b);
  const draw = (svg, width) => {
    const height = heightFor(width);
    const bottom = height - kMargin.bottom;
    const gpus = gpuScale(counts, width);
    const x = (p) => gpus(p.run.gpus);
    const y = d3.scaleLinear().domain([0, Math.max(1.1, d3.max(points, (p) => p.range[0]) * 1.05)])
      .range([bottom, kMargin.top]);
    yAxis(svg, y, y.ticks(6), width, 'throughput per GPU', percent);
    xAxis(svg, gpus, apart(counts, gpus, 34), bottom, kMargin.top, 'GPUs');
    svg.append('line').attr('class', 'exact').attr('y1', y(1)).attr('y2', y(1))
      .attr('x1', kMargin.left).attr('x2', width - kMargin.right);
    drawLines(svg, points, x, y);
    for (const p of points)
      drawRange(svg, p, (value) => [x(p), y(value)],
        `${percent(p.range[0])}, ${text(p.perGpu)} tokens/s per GPU, ${p.kind}`);
    return height;
  };
  return {
    finding: scalingFinding(all, shown), draw, note: scalingNote(all, note),
    legend: seriesLegend(shown, points),
    columns: ['Series', 'GPUs', 'Kind', 'Efficiency', 'Tokens/s per GPU', 'Run'],
    rows: points.map((p) =>
      [p.name, p.run.gpus, p.kind, percent(p.range[0]), p.perGpu, p.run.id || '']),
  };
}
