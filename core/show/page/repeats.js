// Repeats of a run are one row, that of the best of them: it opens to the others.

// Takes them out of the rows of a table.
function foldRepeats(items) {
  const leaders = new Map(items.filter(({row}) => 'lead' in row.dataset)
    .map((item) => [item.row.dataset.alike, item]));
  return items.filter((item) => {
    const leader = leaders.get(item.row.dataset.alike);
    if (!leader || leader === item) return true;
    (leader.repeats = leader.repeats || []).push(item);
    return false;
  });
}

const membersOf = (item) => [item, ...(item.repeats || [])];

// Those of an item that are in the document, from the top.
function rowsOf(item) {
  addOpener(item);
  const own = item.open ? [item.row, item.more] : [item.row];
  return item.unfolded ? [...own, ...item.repeats.flatMap(rowsOf)] : own;
}

function setUnfolded(item, unfolded) {
  item.unfolded = unfolded;
  if (item.folder) item.folder.setAttribute('aria-expanded', String(unfolded));
}

function unfold(item) {
  if (item.unfolded) for (const row of item.repeats.flatMap(rowsOf)) row.remove();
  setUnfolded(item, !item.unfolded);
  if (item.unfolded) (item.open ? item.more : item.row).after(...item.repeats.flatMap(rowsOf));
}

function addFolder(item) {
  item.folder = element('button', {type: 'button', class: 'folder',
    'aria-expanded': String(Boolean(item.unfolded))}, `${item.repeats.length + 1} alike`);
  item.folder.addEventListener('click', () => unfold(item));
  item.row.cells[0].append(item.folder);
  for (const {row} of item.repeats) row.classList.add('repeat');
}
