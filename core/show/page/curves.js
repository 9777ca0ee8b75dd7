// Curves over the steps of runs, or over their tokens: at most eight, each with its own dashes. Runs
// that are far apart in length or height have a panel each. Resumes are marked.

const kDashes = [null, '7 3', '2 3', '9 3 2 3', '12 4', '4 2 1 2', '1 2', '14 3 3 3'];
const kArrow = 'M0 -3l-5 -9h10z';

function dashSample(i) {
  return sample((svg) => svg.append('path').attr('class', `curve s${i}`).attr('d', 'M0 7h22')
    .attr('stroke-dasharray', kDashes[i]));
}

// Where the curve is at the step of a resume.
function resumePoints(run, points) {
  return (run.resumes || []).map((step) => points.find((point) => point[0] >= step))
    .filter(Boolean);
}

function drawCurve(svg, {run, points}, i, {x, y, form}) {
  const line = d3.line().x(x).y(y);
  if (form) line.curve(form);
  svg.append('path').attr('class', `mark curve s${i}`).attr('data-run', run.index)
    .attr('stroke-dasharray', kDashes[i]).attr('d', line(points))
    .append('title').text(run.id || '');
  for (const point of resumePoints(run, points))
    svg.append('path').attr('class', `resume s${i}`).attr('d', kArrow)
      .attr('transform', `translate(${x(point)} ${y(point)})`)
      .append('title').text(`${run.id || ''}: resumed at step ${text(point[0])}`);
}

// What changes far would be flat at its other end on a linear scale.
function curveScale(values, range) {
  const [low, high] = d3.extent(values);
  if (low > 0 && high > 3 * low) return logScale(values, range);
  const room = high > low ? 0 : Math.abs(high) * 0.05 || 1;
  return d3.scaleLinear().domain([low - room, high + room]).nice().range(range);
}

function curveLegend(lines) {
  const legend = lines.map(({run}, i) => ({picture: dashSample(i), words: cut(run.id || '', 60)}));
  if (lines.some(({run}) => run.resumes))
    legend.push({words: 'resumed', picture: sample((svg) => svg.append('path').attr('d', kArrow)
      .attr('class', 'resume neutral').attr('transform', 'translate(11 14)'))});
  return legend;
}

// Some points of each curve, the first and the last among them.
function curveRows(lines, row) {
  return lines.flatMap(({run, points}) => {
    const every = Math.max(1, Math.ceil(points.length / 12));
    return points.filter((_, i) => i % every === 0 || i === points.length - 1)
      .map((point) => [run.id || '', ...row(point)]);
  });
}

// Axes between two heights, and some lines in them.
function drawCurves(svg, lines, width, [top, bottom], {along, value, form, label, alongLabel,
  alongFormat = text}) {
  const points = lines.flatMap((line) => line.points);
  const scale = d3.scaleLinear().domain(d3.extent(points, along))
    .range([kMargin.left, width - kMargin.right]);
  const level = curveScale(points.map(value), [bottom, top]);
  const ticks = level.ticks(Math.max(3, Math.round((bottom - top) / 60)));
  yAxis(svg, level, apart(ticks, level, 20), width, label);
  const whole = scale.ticks(width < 500 ? 4 : 8).filter((tick) => Number.isInteger(tick));
  xAxis(svg, scale, apart(whole, scale, 44), bottom, top, alongLabel, alongFormat);
  for (const line of lines)
    drawCurve(svg, line, line.place,
      {x: (point) => scale(along(point)), y: (point) => level(value(point)), form});
}

function drawPanels(svg, lines, width, how) {
  const [high, each] = [84, 142];
  lines.forEach((line, i) => {
    rowLabel(svg, line.run, i * each, width);
    const last = i + 1 === lines.length;
    drawCurves(svg, [line], width, [i * each + 24, i * each + 24 + high],
      {...how, label: '', alongLabel: last ? how.alongLabel : ''});
  });
  return lines.length * each + 6;
}

// Whether one pair of axes shows them all.
function areAlike(lines, {along, value}) {
  const spread = (values) => d3.max(values) / d3.min(values);
  return spread(lines.map(({points}) => along(points[points.length - 1]))) <= 8 &&
    spread(lines.map(({points}) => d3.median(points, value))) <= 8;
}

// lines: [{run, points}]; along and value: what a point has on either axis.
function curveChart(lines, how, rest) {
  lines.forEach((line, i) => { line.place = i; });
  const together = areAlike(lines, how);
  const draw = (svg, width) => {
    if (!together) return drawPanels(svg, lines, width, how);
    drawCurves(svg, lines, width, [kMargin.top, heightFor(width) - kMargin.bottom], how);
    return heightFor(width);
  };
  return {draw, ...rest, legend: together ? curveLegend(lines) : [],
    note: notes(rest.note, !together && `Each run by itself: ${how.label} over ${how.alongLabel}.`)};
}

const longest = (lines) => curves > kDashes.length && `Of the ${kDashes.length} longest of ` +
  `${counted(curves, 'run')} that tell of their steps.`;
