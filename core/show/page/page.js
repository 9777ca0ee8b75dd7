// Draws the charts and sets up the table and the hints.

new Hints();

for (const chart of read('chart-data')) {
  const figure = document.querySelector(`figure[data-chart="${chart.name}"]`);
  const others = chart.others || [];
  show(figure, chart, [chart, ...others], chart.questions);
}

const runTable = document.getElementById('table') && new Table(document.getElementById('table'));

// On paper nothing can be expanded, so details are printed expanded, except files and data.
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
