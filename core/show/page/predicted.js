// Predicted against measured seconds per step: on the diagonal, the estimate is exact.

// Runs that are not to be believed say nothing of the estimate.
function predictedFinding(all) {
  const points = all.filter((p) => !p.run.out);
  if (points.length === 0) return 'No run here is free of doubts.';
  const left = all.length - points.length;
  const errors = points.map((p) => p.error);
  const within = errors.filter((error) => Math.abs(error) <= 0.1).length;
  const mean = d3.mean(errors, Math.abs);
  return `Of ${counted(points.length, 'run')}, ${within} ${within === 1 ? 'is' : 'are'} ` +
    'estimated within 10 %. ' +
    `Mean error without sign ${d3.format('.1f')(100 * mean)} %, ` +
    `median ${d3.format('+.1f')(100 * d3.median(errors))} %.` +
    (left === 0 ? '' : ` Not counted, but drawn: ${counted(left, 'run')} left out elsewhere.`);
}

function drawDiagonal(svg, x, y) {
  const [low, high] = x.domain();
  const line = (factor) => [[low, low * factor], [high, high * factor]];
  const path = d3.line().x((p) => x(p[0])).y((p) => y(p[1]));
  svg.append('clipPath').attr('id', 'inside').append('rect').attr('x', x(low)).attr('y', y(high))
    .attr('width', x(high) - x(low)).attr('height', y(low) - y(high));
  const group = svg.append('g').attr('clip-path', 'url(#inside)');
  group.append('path').attr('class', 'tenth')
    .attr('d', path([...line(1.1), ...line(0.9).reverse()]));
  group.append('path').attr('class', 'exact').attr('d', path(line(1)));
}

function predictedChart() {
  const all = runs.filter((run) => run.step && run.estimatedStep);
  if (all.length === 0) return null;
  const {shown, note} = firstSeries(all.map(seriesOf));
  const places = new Map(shown.map(({name, i}) => [name, i]));
  const points = all.map((run) => ({
    run, i: places.get(seriesOf(run)), error: run.estimatedStep[0] / run.step[0] - 1,
  }));
  const drawn = points.filter((p) => p.i !== undefined);
  const draw = (svg, width) => {
    const side = Math.min(width, 560);
    const values = drawn.flatMap(({run}) => [run.step[0], run.estimatedStep[0]]);
    const x = logScale(values, [kMargin.left, side - kMargin.right], 4);
    const y = x.copy().range([side - kMargin.bottom, kMargin.top]);
    yAxis(svg, y, apart(decades(y), y, 18), side, 'predicted seconds per step');
    xAxis(svg, x, apart(decades(x), x, 36), side - kMargin.bottom, kMargin.top,
      'measured seconds per step');
    drawDiagonal(svg, x, y);
    for (const {run, i, error} of drawn)
      mark(svg, 'measured faint', i, run, `${run.id || ''}: measured ${text(run.step[0])} s, ` +
        `predicted ${text(run.estimatedStep[0])} s, ${d3.format('+.1f')(error * 100)} %`)
        .attr('d', shape(i, drawn.length > 200 ? 28 : 56))
        .attr('transform', `translate(${x(run.step[0])} ${y(run.estimatedStep[0])})`);
    return side;
  };
  const some = points.slice(0, 200);
  return {
    finding: predictedFinding(points), draw,
    note: ['The band is 10 % to either side.', note,
      some.length < points.length ? `The data below are of the first ${some.length} runs.` : '']
      .join(' '),
    legend: [
      ...seriesSamples(shown),
      ...doubtfulLegend(drawn.map((p) => p.run))],
    columns: ['Run', 'Measured s', 'Predicted s', 'Error'],
    rows: some.map(({run, error}) => [run.id || '', run.step[0], run.estimatedStep[0],
      `${d3.format('+.1f')(error * 100)} %`]),
  };
}
