// The peak of memory on the fullest GPU so far: a run that goes on rising may not last.

function peaksFinding(lines) {
  const growth = ({points}) => points[points.length - 1][1] / points[0][1];
  const most = lines.reduce((a, b) => growth(b) > growth(a) ? b : a);
  const [first, last] = [most.points[0], most.points[most.points.length - 1]];
  const rise = most.run.peaks[most.run.peaks.length - 1][0];
  return `Rises most: ${cut(most.run.id || 'no name', 60)}, from ${text(first[1])} GiB at step ` +
    `${text(first[0])} to ${text(last[1])} GiB at step ${text(rise)} ` +
    `(${d3.format('+.1f')(100 * (growth(most) - 1))} %).`;
}

// To the end of the run, for nothing rose after the last of them.
function peakPoints(run) {
  const points = run.peaks.map(([step, bytes]) => [step, bytes / 2 ** 30]);
  const last = points[points.length - 1];
  return run.steps > last[0] ? [...points, [run.steps, last[1]]] : points;
}

function peaksChart() {
  const lines = runs.filter((run) => run.peaks).map((run) => ({run, points: peakPoints(run)}));
  if (lines.length === 0) return null;
  return curveChart(lines, {
    along: (p) => p[0], value: (p) => p[1], label: 'GiB, peak so far', alongLabel: 'steps',
    form: d3.curveStepAfter,
  }, {
    finding: peaksFinding(lines), note: notes(longest(lines)),
    columns: ['Run', 'Step', 'GiB'], rows: curveRows(lines, (point) => point),
  });
}
