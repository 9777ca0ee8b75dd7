// Loss curves by tokens, or by steps where the tokens of a run are not known. Resumes are marked.

const kDashes = [null, '7 3', '2 3', '9 3 2 3', '12 4', '4 2 1 2', '1 2', '14 3 3 3'];
const kArrow = 'M0 -3l-5 -9h10z';

function dashSample(i) {
  return sample((svg) => svg.append('path').attr('class', `curve s${i}`).attr('d', 'M0 7h22')
    .attr('stroke-dasharray', kDashes[i]));
}

// A point of a curve is [step, tokens, loss].
function lossFinding(shown, byTokens) {
  const last = (run) => run.losses[run.losses.length - 1];
  const whole = shown.filter((run) => !run.nan);
  const best = (whole.length > 0 ? whole : shown).reduce((a, b) => last(b)[2] < last(a)[2] ? b : a);
  const at = byTokens ? `${tokens(last(best)[1])} tokens` : `step ${text(last(best)[0])}`;
  const resumes = d3.sum(shown, (run) => (run.resumes || []).length);
  return `Lowest last loss: ${text(last(best)[2])} of ${cut(best.id || 'no name', 60)} at ${at}.` +
    (resumes > 0 ? ` ${counted(resumes, 'resume')} marked.` : '');
}

// Where the curve is at the step of a resume.
function resumePoints(run) {
  return (run.resumes || []).map((step) => run.losses.find((point) => point[0] >= step))
    .filter(Boolean);
}

function drawCurve(svg, run, i, x, y) {
  const line = d3.line().x(x).y((point) => y(point[2]));
  svg.append('path').attr('class', `mark curve s${i}`).attr('data-run', run.index)
    .attr('stroke-dasharray', kDashes[i]).attr('d', line(run.losses))
    .append('title').text(run.id || '');
  for (const point of resumePoints(run))
    svg.append('path').attr('class', `resume s${i}`).attr('d', kArrow)
      .attr('transform', `translate(${x(point)} ${y(point[2])})`)
      .append('title').text(`${run.id || ''}: resumed at step ${text(point[0])}`);
}

// Where the loss falls far, its end would be flat on a linear scale.
function lossScale(values, range) {
  const [low, high] = d3.extent(values);
  if (low > 0 && high > 3 * low) return logScale(values, range);
  return d3.scaleLinear().domain([low, high]).nice().range(range);
}

function lossRows(shown) {
  return shown.flatMap((run) => {
    const every = Math.max(1, Math.ceil(run.losses.length / 12));
    return run.losses.filter((_, i) => i % every === 0 || i === run.losses.length - 1)
      .map(([step, trained, loss]) => [run.id || '', step, trained ? tokens(trained) : '', loss]);
  });
}

function lossChart() {
  const shown = runs.filter((run) => run.losses && run.losses.length > 1);
  if (shown.length === 0) return null;
  const byTokens = shown.every((run) => run.losses.some((point) => point[1] > 0));
  const along = byTokens ? 1 : 0;
  const points = shown.flatMap((run) => run.losses);
  const draw = (svg, width) => {
    const height = heightFor(width);
    const bottom = height - kMargin.bottom;
    const scale = d3.scaleLinear().domain(d3.extent(points, (p) => p[along]))
      .range([kMargin.left, width - kMargin.right]);
    const y = lossScale(points.map((p) => p[2]), [bottom, kMargin.top]);
    yAxis(svg, y, apart(y.ticks(6), y, 20), width, 'loss');
    xAxis(svg, scale, scale.ticks(width < 500 ? 4 : 8), bottom, kMargin.top,
      byTokens ? 'tokens' : 'steps', byTokens ? tokens : text);
    shown.forEach((run, i) => drawCurve(svg, run, i, (point) => scale(point[along]), y));
    return height;
  };
  const legend = shown.map((run, i) => ({picture: dashSample(i), words: cut(run.id || '', 60)}));
  if (shown.some((run) => run.resumes))
    legend.push({words: 'resumed', picture: sample((svg) => svg.append('path').attr('d', kArrow)
      .attr('class', 'resume neutral').attr('transform', 'translate(11 14)'))});
  const nan = runs.filter((run) => run.nan)
    .map((run) => `${cut(run.id || 'no name', 60)}: ${run.nan}`);
  return {
    finding: lossFinding(shown, byTokens), draw, legend,
    note: notes(curves > shown.length && `The ${shown.length} longest of ` +
      `${counted(curves, 'curve')}.`, nan.length > 0 && `${cut(listed(nan), 400)}.`),
    columns: ['Run', 'Step', 'Tokens', 'Loss'], rows: lossRows(shown),
  };
}
