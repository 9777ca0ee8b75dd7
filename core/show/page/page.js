// Starts it all.

const kCharts = {days: daysChart, sweep: sweepChart, scaling: scalingChart, time: timeChart,
  memory: memoryChart, predicted: predictedChart, loss: lossChart, pace: paceChart,
  peaks: peaksChart};

for (const figure of document.querySelectorAll('figure[data-chart]')) {
  const chart = kCharts[figure.dataset.chart]();
  if (chart) show(figure, chart);
  else figure.replaceChildren(element('p', {}, 'No run has the numbers for this chart.'));
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
