// The table can be sorted by any column and filtered by words and menus. Only the first rows are in
// the document, because the layout of thousands is slow; the others are added on scrolling.

const kFirst = 50;
const kNext = 100;
const collator = new Intl.Collator('en', {numeric: true});

// The text of a cell without the text of its button.
function wordsOf(cell) {
  const button = cell.querySelector('.folder');
  const words = cell.textContent;
  return button ? words.slice(0, words.length - button.textContent.length) : words;
}

function valueOf(row, column, isNumber) {
  const cell = row.cells[column];
  if (!isNumber) return wordsOf(cell).trim().toLowerCase();
  return cell.dataset.v === undefined ? NaN : Number(cell.dataset.v);
}

// Missing values come last in both directions; equal values keep their order.
function compare(a, b, direction) {
  const missing = (v) => v === '' || Number.isNaN(v);
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  if (typeof a === 'number') return direction * (a - b);
  return direction * collator.compare(a, b);
}

class Table {
  constructor(table) {
    this.box = table.parentElement;
    this.body = table.tBodies[0];
    this.heads = [...table.tHead.rows[0].cells];
    this.difference = new Difference(document.getElementById('shown'));
    this.items = [...this.body.rows].map((row, i) => ({row, i, shown: true,
      difference: this.difference}));
    this.setTies(true);
    this.addHeads();
    this.addControls(document.getElementById('controls'));
    this.box.addEventListener('scroll', () => this.follow(), {passive: true});
    const section = this.box.parentElement;  // its width limits that of an expanded row
    new ResizeObserver(() => this.box.style.setProperty('--box', `${section.clientWidth - 2}px`))
      .observe(section);
    this.display();
  }

  // Ties are folded where days are the order; by other columns each run has its place.
  setTies(folded) {
    if (folded === this.tied) return false;
    this.tied = folded;
    this.rows = foldRepeats(this.items, folded);
    return true;
  }

  addHeads() {
    this.heads.forEach((head, column) => {
      const button = element('button', {type: 'button'});
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute('aria-sort', 'none');
      button.addEventListener('click', () => this.sort(column));
    });
  }

  sort(column) {
    const head = this.heads[column];
    const direction = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    for (const other of this.heads) other.setAttribute('aria-sort', 'none');
    head.setAttribute('aria-sort', direction > 0 ? 'ascending' : 'descending');
    const isNumber = head.classList.contains('number');
    const refolded = this.setTies(/^(estimated_)?days$/.test(head.dataset.name));
    for (const item of this.rows) item.value = valueOf(item.row, column, isNumber);
    this.rows.sort((a, b) => compare(a.value, b.value, direction) || a.i - b.i);
    if (refolded) this.filter();
    else this.display();
  }

  addControls(place) {
    this.words = element('input', {type: 'search', id: 'words', autocomplete: 'off'});
    this.words.addEventListener('input', () => this.filter());
    place.append(element('label', {for: 'words'}, 'Search all columns', this.words));
    this.choices = [];
    this.heads.forEach((head, column) => {
      if ('choices' in head.dataset) this.addChoice(place, head, column);
    });
    this.addColumns(place);
    this.all = element('button', {type: 'button', id: 'all'}, 'Lay out all at once');
    this.all.addEventListener('click', () => this.append(Infinity));
    place.append(this.all);
  }

  // Adds a checkbox for each column except the first; columns with details start hidden.
  addColumns(place) {
    const boxes = this.heads.slice(1).map((head, i) => {
      const box = element('input', {type: 'checkbox', id: `column-${i + 1}`});
      box.checked = !('detail' in head.dataset);
      box.addEventListener('change', () => this.showColumn(i + 1, box.checked));
      this.showColumn(i + 1, box.checked);
      return element('label', {for: box.id}, box, ` ${head.textContent}`);
    });
    const all = element('button', {type: 'button', id: 'every-column'}, 'All columns');
    all.addEventListener('click', () => {
      for (const box of this.chooser.querySelectorAll('input')) if (!box.checked) box.click();
    });
    this.chooser = element('details', {class: 'chooser'}, element('summary', {}, 'Columns'),
      element('div', {}, all, ...boxes));
    place.after(this.chooser);
  }

  showColumn(column, shown) {
    this.heads[column].hidden = !shown;
    for (const {row} of this.items) row.cells[column].hidden = !shown;
  }

  // The value that a menu filters by: the first text of a cell, without small print or details.
  choiceOf(row, column) {
    const cell = row.cells[column];
    const first = cell.querySelector('summary') || cell.firstChild;
    return first ? first.textContent.trim() : '';
  }

  addChoice(place, head, column) {
    const values = [...new Set(this.items.map(({row}) => this.choiceOf(row, column)))];
    if (values.length < 2 || values.length > 40) return;
    values.sort(collator.compare);
    const select = element('select', {id: `choice-${head.dataset.name}`},
      element('option', {value: ''}, 'all'),
      ...values.map((value) => element('option', {value: `=${value}`}, value || '(none)')));
    select.addEventListener('change', () => this.filter());
    place.append(element('label', {for: select.id}, head.textContent, select));
    this.choices.push({select, column});
  }

  filter() {
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isShown = (item) => {
      if (item.text === undefined)
        item.text = [...item.row.cells].map(wordsOf).join(' ').toLowerCase();
      return words.every((word) => item.text.includes(word)) &&
        this.choices.every(({select, column}) =>
          select.value === '' || select.value === `=${this.choiceOf(item.row, column)}`);
    };
    for (const item of this.items) item.hit = isShown(item);
    for (const item of this.rows) {
      item.shown = membersOf(item).some(({hit}) => hit);
      if (item.repeats) setUnfolded(item, item.shown && !item.hit);  // one of its repeats matches
    }
    this.display();
  }

  display() {
    this.matching = this.rows.filter((item) => item.shown);
    this.laid = 0;
    this.body.replaceChildren();
    this.box.scrollTop = 0;
    this.append(kFirst);
    const n = this.matching.flatMap(membersOf).filter(({hit}) => hit !== false).length;
    const all = this.items.length;
    document.getElementById('shown').textContent =
      n === all ? `All ${counted(all, 'run')} shown` : `${text(n)} of ${counted(all, 'run')} shown`;
  }

  append(count) {
    const next = this.matching.slice(this.laid, this.laid + count);
    this.body.append(...next.flatMap(rowsOf));
    this.laid += next.length;
    this.all.hidden = this.laid === this.matching.length;
  }

  follow() {
    const {scrollTop, clientHeight, scrollHeight} = this.box;
    if (scrollTop + 2 * clientHeight > scrollHeight && !this.all.hidden) this.append(kNext);
  }
}
