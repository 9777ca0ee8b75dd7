// Starts it all.

// Their places, headings and what makes each: null where no run has the numbers for it.
const kCharts = [
  ['days', 'Days per 100B tokens', daysChart], ['sweep', 'Days by two parameters', sweepChart],
  ['scaling', 'Scaling efficiency', scalingChart],
  ['time', 'Where the time of a step goes', timeChart],
  ['memory', 'Memory against the limit', memoryChart],
  ['predicted', 'Predicted against measured', predictedChart], ['loss', 'Loss', lossChart],
  ['pace', 'Step time over the run', paceChart], ['peaks', 'Memory over the run', peaksChart]];

for (const [id, heading, make] of kCharts) {
  const chart = make();
  if (!chart) continue;
  const words = chart.heading || heading;
  const figure = element('figure', {'data-chart': id});
  document.getElementById('charts')
    .before(element('section', {id, class: 'chart'}, element('h2', {}, words), figure));
  document.querySelector('nav a[href="#runs"]').parentElement
    .before(element('li', {}, element('a', {href: `#${id}`}, words)));
  show(figure, chart);
}

const runTable = document.getElementById('table') && new Table(document.getElementById('table'));

// On paper nothing can be opened: what explains a number is open there, files are not.
addEventListener('beforeprint', () => {
  if (runTable) runTable.append(Infinity);
  for (const details of document.querySelectorAll('details:not(.file):not(.data):not([open])')) {
    details.open = true;
    details.dataset.printed = '';
  }
});
addEventListener('afterprint', () => {
  for (const details of document.querySelectorAll('details[data-printed]')) {
    details.open = false;
    delete details.dataset.printed;
  }
});
document.documentElement.dataset.script = 'ready';
