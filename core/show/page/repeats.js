// Repeats of a run are folded into the row of the best one, which expands to the others. So are runs
// whose estimates cannot be told from the best one's, while the table is in the order of days.

const isTied = ({row}) => 'tied' in row.dataset;

// The items without those that are folded, which are attached to their leader.
function foldRepeats(items, withTies) {
  const folds = (item) => withTies || !isTied(item);
  for (const item of items) release(item);
  const leaders = new Map(items.filter((item) => 'lead' in item.row.dataset && folds(item))
    .map((item) => [item.row.dataset.alike, item]));
  return items.filter((item) => {
    const leader = leaders.get(item.row.dataset.alike);
    if (!leader || leader === item) return true;
    item.row.classList.add('repeat');
    (leader.repeats = leader.repeats || []).push(item);
    return false;
  });
}

function release(item) {
  if (item.folder) item.folder.remove();
  item.row.classList.remove('repeat');
  item.repeats = item.folder = undefined;
  item.unfolded = false;
}

const membersOf = (item) => [item, ...(item.repeats || [])];

// The visible rows of an item, from top to bottom.
function rowsOf(item) {
  addOpener(item);
  if (item.repeats && !item.folder) addFolder(item);
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
  const others = item.repeats.length;
  item.folder = element('button', {type: 'button', class: 'folder',
    'aria-expanded': String(Boolean(item.unfolded)),
    title: isTied(item) ? 'their estimates cannot be told from this one' : 'repeats of this run'},
  isTied(item) ? `${others} as fast` : `${others + 1} alike`);
  item.folder.addEventListener('click', () => unfold(item));
  item.row.cells[0].append(item.folder);
}
