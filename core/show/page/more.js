// A row of the table expands to everything that is known of its run.

let chapters = null;  // parsed on first use, because it is most of the page

function chapterElement([heading, pairs]) {
  const list = element('dl');
  for (const [name, value] of pairs)
    list.append(element('div', {}, element('dt', {}, name), element('dd', {}, value)));
  return element('section', {}, element('h3', {}, heading), list);
}

function chaptersOf(item) {
  if (!chapters) chapters = read('chapter-data');
  return chapters[item.i];
}

function moreRow(item) {
  const content = element('div', {class: 'chapters'}, ...chaptersOf(item).map(chapterElement));
  const cell = element('td', {colspan: item.row.cells.length}, content);
  return element('tr', {class: 'more', id: `more-${item.i}`}, cell);
}

function toggle(item) {
  item.open = !item.open;
  if (!item.more) item.more = moreRow(item);
  if (item.open) item.row.after(item.more);
  else item.more.remove();
  item.opener.setAttribute('aria-expanded', String(item.open));
}

// Adds to the first cell a button that expands the row and a checkbox that selects it to compare.
function addOpener(item) {
  if (item.opener) return;
  const head = item.row.cells[0];
  item.name = head.textContent;
  item.opener = element('button', {
    type: 'button', class: 'opener', 'aria-expanded': 'false', 'aria-controls': `more-${item.i}`,
    'aria-label': `All of ${item.name}`,
  });
  item.opener.addEventListener('click', () => toggle(item));
  const box = element('input', {type: 'checkbox', class: 'choose',
    'aria-label': `Compare ${item.name}`});
  box.addEventListener('change', () => item.difference.choose(item, box));
  head.prepend(item.opener, box);
}
