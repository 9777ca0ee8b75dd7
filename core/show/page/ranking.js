// Days per 100B tokens where all runs have as many GPUs: the best runs, one below the other.

function rankingFinding(lines) {
  const best = lines[0];
  const words = `Fewest: ${text(days(best))} days, ${cut(runLabel(best), 80)}, ` +
    `${best.days ? 'measured' : 'estimated'}.`;
  const second = lines.find((run) => seriesOf(run) !== seriesOf(best));
  if (second === undefined) return words;
  const times = days(second) / days(best);
  const more = times < 2 ? `${percent(times - 1)} more` : `${d3.format('.2f')(times)} times as many`;
  return `${words} The best of ${seriesOf(second)}: ${text(days(second))} days, ${more}.`;
}

function rankingPoints(lines, places) {
  return lines.flatMap((run) => [['measured', run.days], ['estimated', run.estimatedDays]]
    .filter(([, range]) => range)
    .map(([kind, range]) => ({run, kind, range, i: places.get(seriesOf(run))})));
}

function rankingChart(all) {
  const best = bestFirst(all);
  const {shown, note} = firstSeries(best.map(seriesOf));
  const places = new Map(shown.map(({name, i}) => [name, i]));
  const lines = best.filter((run) => places.has(seriesOf(run)));
  const points = rankingPoints(lines, places);
  const draw = (svg, width) => {
    const values = points.flatMap((p) => p.range);
    const range = [8, width - 12];
    const far = d3.max(values) > 5 * d3.min(values);  // the slowest would press the others together
    const scale = far ? logScale(values, range) :
      d3.scaleLinear().domain([0, d3.max(values) * 1.03]).range(range);
    const ticks = far ? apart(decades(scale), scale, 30) : scale.ticks(width < 500 ? 4 : 8);
    const bottom = lines.length * 38 + 6;
    xAxis(svg, scale, ticks, bottom, 0, 'days per 100B tokens');
    lines.forEach((run, n) => {
      rowLabel(svg, run, n * 38, width);
      for (const p of points.filter((one) => one.run === run).reverse())  // the measured on top
        drawRange(svg, p, (value) => [scale(value), n * 38 + 26], `${ranged(p.range)} days, ${p.kind}`);
    });
    return bottom + kMargin.bottom;
  };
  return {
    finding: rankingFinding(lines), draw, legend: seriesLegend(shown, points),
    note: notes(leftOut(all.length, kSingle, 'run'), note, notCounted(hasDays)),
    columns: ['Run', 'Kind', 'Days', 'Low', 'High'],
    rows: points.map((p) => [p.run.id || '', p.kind, ...three(p.range)]),
  };
}
