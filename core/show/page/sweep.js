// Days per 100B tokens by two parameters, a grid of cells for each strategy and model. A cell has the
// best run of its place. Which two can be chosen; at first those whose grids are fullest.

const kFacets = 6;
const kLongestSide = 12;  // values of a parameter
const kBounds = [1.05, 1.25, 1.5, 2];  // of the best of a grid
const kCell = {least: 24, most: 76, height: 30, gap: 28};

const nameOf = (parameter) => swept[parameter][0];
const isSwept = (run) => run.at && run.gpus && (hasDays(run) || run.estimatedMemory);
const at = (run, parameter) => run.at[parameter];
const said = (run, parameter) => at(run, parameter) !== '';

function valuesOf(some, parameter) {
  const values = [...new Set(some.filter((run) => said(run, parameter))
    .map((run) => at(run, parameter)))];
  return values.every((value) => typeof value === 'number') ? values.sort((a, b) => a - b) :
    values.sort((a, b) => collator.compare(a, b));
}

// A grid of one series: the runs of each of its places, or null where it is too small to be one.
function gridOf(some, x, y) {
  const used = some.filter((run) => said(run, x) && said(run, y));
  const columns = valuesOf(used, x);
  const rows = valuesOf(used, y);
  const places = grouped(used, (run) => JSON.stringify([at(run, x), at(run, y)]));
  const small = columns.length < 2 || rows.length < 2 || places.size < 4;
  const large = columns.length > kLongestSide || rows.length > kLongestSide;
  return small || large ? null : {columns, rows, places};
}

// Days on more GPUs are other days: a grid has runs on as many, unless they are one of its sides.
function gridsOf(x, y) {
  const byGpus = manyCounts && nameOf(x) !== 'gpus' && nameOf(y) !== 'gpus';
  const name = (run) => byGpus ? `${seriesOf(run)} · ${counted(run.gpus, 'GPU')}` : seriesOf(run);
  return [...grouped(ranked.filter(isSwept), name)]
    .map(([name, some]) => ({name, ...gridOf(some, x, y)})).filter((grid) => grid.places);
}

// Many places, and few of them empty.
const fullnessOf = (grids) => d3.sum(grids, ({columns, rows, places}) =>
  places.size ** 2 / (columns.length * rows.length));

function pairsOfSweep() {
  const pairs = d3.cross(d3.range(swept.length), d3.range(swept.length)).filter(([a, b]) => a < b)
    .map(([a, b]) => ({x: a, y: b, score: fullnessOf(gridsOf(a, b))}));
  return pairs.filter((pair) => pair.score > 0).sort((a, b) => b.score - a.score);
}

// What a cell says: the days of its best run, or why it has none.
function cellOf(some, best) {
  const counted = some.filter((run) => !run.out && hasDays(run));
  if (counted.length === 0) {
    const full = some.every((run) => /fit|memory/.test(run.out || ''));
    return {run: some[0], words: full ? 'no fit' : 'left out', tint: 'none'};
  }
  const run = counted.reduce((a, b) => days(b) < days(a) ? b : a);
  const times = days(run) / best;
  return {run, words: text(days(run)), times, count: some.length,
    tint: `q${kBounds.filter((bound) => times > bound).length}`};
}

function cellsOf({columns, rows, places}) {
  const found = d3.cross(rows, columns).map(([row, column]) =>
    ({row, column, some: places.get(JSON.stringify([column, row]))})).filter((cell) => cell.some);
  const best = d3.min(found.flatMap(({some}) => some.filter((run) => !run.out && hasDays(run))), days);
  return found.map((cell) => ({...cell, ...cellOf(cell.some, best)}));
}

function cellTitle({run, words, row, column, times, count}, x, y) {
  const place = `${nameOf(x)} ${column}, ${nameOf(y)} ${row}`;
  if (!times) return `${place}: ${run.out || 'not timed'}`;
  const of = count > 1 ? `, the best of ${count}` : '';
  return `${place}: ${words} days ${run.days ? 'measured' : 'estimated'}${of}, ` +
    `${d3.format('.2f')(times)} times the best; ${run.id || ''}`;
}

function drawCell(svg, cell, left, top, width, x, y) {
  const group = svg.append('g').attr('class', `place ${cell.tint}`)
    .attr('transform', `translate(${left} ${top})`);
  mark(group, 'cell', 0, cell.run, cellTitle(cell, x, y))
    .attr('d', `M1 1h${width - 2}v${kCell.height - 2}h${2 - width}z`);
  if (cell.tint === 'none')
    group.append('path').attr('class', 'crossed').attr('d', `M1 ${kCell.height - 1}L${width - 1} 1`);
  if (cell.times === 1)
    group.append('rect').attr('class', 'first').attr('x', 2).attr('y', 2)
      .attr('width', width - 4).attr('height', kCell.height - 4);
  group.append('text').attr('class', cell.run.days && cell.times ? 'in-cell measured' : 'in-cell')
    .attr('x', width / 2).attr('y', kCell.height / 2).attr('dy', '0.34em')
    .attr('text-anchor', 'middle').text(cell.words);
}

const valueText = (value) => typeof value === 'number' ? text(value) : value;
const labelWidth = (grid) => 14 + 7 * d3.max(grid.rows, (row) => Math.min(14, valueText(row).length));

function drawGrid(svg, grid, left, top, cell, x, y) {
  const axis = svg.append('g').attr('class', 'axis');
  const first = left + labelWidth(grid);
  svg.append('text').attr('class', 'run').attr('x', left).attr('y', top + 13)
    .text(cut(grid.name, Math.floor((first - left + cell * grid.columns.length) / 7.7)));
  grid.columns.forEach((value, i) => axis.append('text').attr('x', first + (i + 0.5) * cell)
    .attr('y', top + 34).attr('text-anchor', 'middle').text(cut(valueText(value), cell / 7)));
  grid.rows.forEach((value, i) => axis.append('text').attr('x', first - 6)
    .attr('y', top + 42 + (i + 0.5) * kCell.height).attr('dy', '0.34em')
    .attr('text-anchor', 'end').text(cut(valueText(value), 14)));
  for (const one of cellsOf(grid))
    drawCell(svg, one, first + grid.columns.indexOf(one.column) * cell,
      top + 42 + grid.rows.indexOf(one.row) * kCell.height, cell, x, y);
}

// Side by side as long as there is room, then below.
function drawGrids(svg, grids, width, x, y) {
  let left = 0, top = 0, lowest = 0;
  for (const grid of grids) {
    const room = (width - labelWidth(grid)) / grid.columns.length;
    const cell = Math.max(kCell.least, Math.min(kCell.most, room));
    const wide = labelWidth(grid) + cell * grid.columns.length;
    if (left > 0 && left + wide > width) [left, top] = [0, lowest + kCell.gap];
    drawGrid(svg, grid, left, top, cell, x, y);
    lowest = Math.max(lowest, top + 42 + grid.rows.length * kCell.height);
    left += wide + kCell.gap;
  }
  return lowest + 8;
}

// The longer side goes down, where there is room.
const laidOut = ({x, y}) => {
  const across = d3.max(gridsOf(x, y), (grid) => grid.columns.length);
  const down = d3.max(gridsOf(x, y), (grid) => grid.rows.length);
  return across > 6 && down < across ? {x: y, y: x} : {x, y};
};

function sweepFinding(grids, x, y) {
  const words = grids.slice(0, 2).map((grid) => {
    const cells = cellsOf(grid).filter((cell) => cell.times);
    if (cells.length === 0) return `${grid.name}: no run that counts`;
    const best = cells.find((cell) => cell.times === 1);
    const worst = cells.reduce((a, b) => b.times > a.times ? b : a);
    return `${grid.name} is best with ${nameOf(x)} ${best.column} and ${nameOf(y)} ${best.row}: ` +
      `${best.words} days; the slowest place takes ${d3.format('.2f')(worst.times)} times as long`;
  });
  return `${words.join('. ')}.`;
}

function sweepLegend(grids) {
  const tint = (name) => sample((svg) => svg.append('g').attr('class', `place ${name}`)
    .append('rect').attr('class', 'mark cell').attr('width', 22).attr('height', 14));
  const cells = grids.flatMap(cellsOf);
  return [
    ...kBounds.map((bound, i) => ({picture: tint(`q${i}`),
      words: `${i === 0 ? 'best ' : ''}to ${bound}×`})),
    {picture: tint(`q${kBounds.length}`), words: 'more'},
    ...(cells.some((cell) => cell.times && cell.run.days) ?
      [{picture: '', words: 'bold: measured'}] : []),
  ];
}

function sweepChoices(pair, pairs) {
  const partners = (parameter) => pairs.filter((p) => p.x === parameter || p.y === parameter)
    .map((p) => p.x === parameter ? p.y : p.x);
  const names = (list) => [...list].sort((a, b) => a - b).map((p) => ({value: p, words: nameOf(p)}));
  const all = new Set(pairs.flatMap((p) => [p.x, p.y]));
  const choose = (x, y) => sweepChart(partners(x).includes(y) ? {x, y} : {x, y: partners(x)[0]});
  return [
    {label: 'Across', value: pair.x, options: names(all), choose: (x) => choose(Number(x), pair.y)},
    {label: 'Down', value: pair.y, options: names(partners(pair.x)),
      choose: (y) => choose(pair.x, Number(y))},
  ];
}

function sweepChart(chosen) {
  const pairs = pairsOfSweep();
  if (pairs.length === 0) return null;
  const pair = chosen || laidOut(pairs[0]);
  const {x, y} = pair;
  const all = gridsOf(x, y);
  const grids = all.slice(0, kFacets);
  return {
    finding: sweepFinding(grids, x, y), legend: sweepLegend(grids),
    choices: pairs.length > 1 ? sweepChoices(pair, pairs) : [],
    draw: (svg, width) => drawGrids(svg, grids, width, x, y),
    note: notes(`Across: ${nameOf(x)} (${swept[x][1]}); down: ${nameOf(y)} (${swept[y][1]}). ` +
      'A cell has the best run of its place, in days per 100B tokens.',
      all.length > kFacets && `Left out: ${counted(all.length - kFacets, 'more grid')}.`),
    columns: ['Series', nameOf(x), nameOf(y), 'Days', 'Times the best', 'Run'],
    rows: grids.flatMap((grid) => cellsOf(grid).map((cell) =>
      [grid.name, valueText(cell.column), valueText(cell.row), cell.times ? days(cell.run) : cell.words,
        cell.times || '', cell.run.id || ''])),
  };
}
