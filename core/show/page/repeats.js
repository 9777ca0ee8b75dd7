// Repeats of a run are folded into the row of the best one, which expands to the others.

// Removes the repeats from the items of a table and attaches them to their leader.
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

// The visible rows of an item, from top to bottom.
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
