// Seconds of each step over the run: what drifts, stalls and starts again shows here.

// The first step after a start compiles, allocates and connects: nobody wonders that it is slow.
function paceFinding(lines) {
  const slowest = lines.map(({run, points}) => {
    const starts = [points[0][0], ...(run.resumes || [])];
    const later = points.filter(([step]) => !starts.includes(step));
    const point = (later.length > 0 ? later : points).reduce((a, b) => b[1] > a[1] ? b : a);
    return {run, point, times: point[1] / (run.step ? run.step[0] : d3.median(points, (p) => p[1]))};
  }).reduce((a, b) => b.times > a.times ? b : a);
  const {run, point, times} = slowest;
  const what = `${text(point[1])} s at step ${text(point[0])} of ${cut(run.id || 'no name', 60)}`;
  return times < 1.05 ? `Steady: no step takes 5 % more than the median of its run (${what}).` :
    `The slowest step beside the median of its run: ${what}, ` +
      `${d3.format('.2f')(times)} times as long.`;
}

function paceChart() {
  const lines = runs.filter((run) => run.times).map((run) => ({run, points: run.times}));
  if (lines.length === 0) return null;
  return curveChart(lines, {
    along: (p) => p[0], value: (p) => p[1], label: 'seconds per step', alongLabel: 'steps',
  }, {
    finding: paceFinding(lines),
    note: notes(lines.some(({run, points}) => run.steps > 1.5 * points.length) &&
      'Of many steps the fastest and the slowest of each stretch are drawn.', longest(lines)),
    columns: ['Run', 'Step', 'Seconds'], rows: curveRows(lines, (point) => point),
  });
}
