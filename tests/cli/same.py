"""same.py ORCH EXPERIMENTS...: whether every quantity of every run is the same number wherever it is
shown. What `plan` says in JSON is held against its CSV and Markdown, `explain`, and the records of
`report` in JSON, CSV and on the page; what was measured, of the published sources, against CSV and
page. Prints how many numbers were held against each other."""

import csv
import html
import io
import json
import re
import subprocess
import sys

ORCH = sys.argv[1]
SOURCES = 'gpt2-jz-v100 bench-1b3 bloom7b-days bloom-prequel pp-perlmutter'.split()
EXACT, ROUNDED = 1e-9, 6e-3  # three digits
SHOWN = {'peak GiB': 'peak_memory_bytes', 'step s': 'step_seconds', 'TFLOPs': 'tflops_per_gpu',
         'tokens/s': 'tokens_per_second', 'days/100B': 'days_per_100b_tokens',
         'days': 'days_to_train', 'GPU-hours': 'gpu_hours', 'loss': 'last_loss'}
PAGE = {'step': 'step_seconds', 'days': 'days_per_100b_tokens', 'tokens_per_second':
        'tokens_per_second', 'memory': 'peak_memory_bytes', 'tflops': 'tflops_per_gpu'}
QUANTITIES = [*SHOWN.values(), 'communicated_bytes', 'bubble', 'host_memory_bytes',
              'usable_memory_bytes', 'tflops_per_gpu_simple', 'mfu']
held = 0
wrong = []


def orch(*words):
    done = subprocess.run([ORCH, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{words}: {done.stderr}'
    return done.stdout


def number(cell):
    """What a cell says; None: nothing."""
    text = str(cell).replace(',', '').replace(' %', '').strip() if cell is not None else ''
    return float(text) if text else None


def in_unit(name, value):
    scale = {'communicated_bytes': 1e-9, 'bubble': 100, 'mfu': 100}
    scale = 1 / 2**30 if name.endswith('memory_bytes') else scale.get(name, 1)
    return None if value is None else value * scale


def hold(where, truth, told, within, least=0.0):
    """least: half of the last digit, of what is shown with so many decimals."""
    global held
    held += 1
    if truth is None or told is None:
        if truth is not told:
            wrong.append(f'{where}: {truth} and {told}')
    elif abs(truth - told) > max(within * abs(truth), least):
        wrong.append(f'{where}: {truth} and {told}')


def shown(where, name, truth, cell):
    least = 0.0501 if name.endswith('memory_bytes') or name in ('bubble', 'mfu') else 0.00501
    hold(where, in_unit(name, truth), number(cell), ROUNDED, least)


def markdown(text):
    lines = [line for line in text.splitlines() if line.startswith('|')]
    rows = [[cell.strip() for cell in re.split(r'(?<!\\)\|', line.strip('|'))] for line in lines]
    return [dict(zip(rows[0], row)) for row in rows[2:]]


def page_rows(text):
    table = text[text.index('id="table"'):]
    heads = re.findall(r'data-name="(\w+)"[^>]*>([^<]*)(?:<small>([^<]*))?', table[:table.index('<tbody')])
    body = table[table.index('<tbody'):table.index('</tbody')]
    for row in re.split('<tr[^>]*>', body)[1:]:
        cells = re.findall(r'<t[dh][^>]*>', row)
        values = [re.search(r'data-v="([^"]*)"', cell) for cell in cells]
        yield [(name, html.unescape(under), float(value.group(1)) if value else None)
               for (name, _, under), value in zip(heads, values)]


def check_plan(file):
    runs = json.loads(orch('plan', file, '--format', 'json'))['runs']
    rows = list(csv.DictReader(io.StringIO(orch('plan', file, '--format', 'csv'))))
    lines = markdown(orch('plan', file, '--format', 'md'))
    assert len(runs) == len(rows) == len(lines) > 0, file
    for run, row, line in zip(runs, rows, lines):
        assert run['id'] == row['id'], file
        for name in QUANTITIES:
            if name in run:
                hold(f'{file}: {run["id"]}: {name} in JSON and CSV', run[name], number(row[name]), EXACT)
        for head, name in SHOWN.items():
            if head in line:
                shown(f'{file}: {run["id"]}: {head}', name, run[name], line[head])
    for strategy in dict.fromkeys(run['strategy'] for run in runs):
        check_explained(file, strategy, {run['id']: run for run in runs})
    return {run['id']: run for run in runs}


def check_explained(file, strategy, runs):
    words = [file, '--where', f'strategy == "{strategy}"']
    told = json.loads(orch('explain', *words, '--format', 'json'))['runs'][0]
    text = orch('explain', *words)
    run = runs[told['id']]
    for name in QUANTITIES:
        if name not in run:
            continue
        hold(f'{file}: explain of {run["id"]}: {name}', run[name], told[name], EXACT)
        row = re.search(rf'^.*?  +(\S+(?: %)?)(?:  +\S+)?  +{name}$', text, re.MULTILINE)
        shown(f'{file}: explain of {run["id"]}: {name} in its table', name, run[name],
              row.group(1) if row else None)


def check_records(word, plans):
    """The records of a report beside each other, and beside the plan they are of."""
    report = ['report', word, '--runs', 'none']
    records = json.loads(orch(*report, '--format', 'json'))['records']
    rows = list(csv.DictReader(io.StringIO(orch(*report, '--format', 'csv'))))
    lines = markdown(orch(*report, '--format', 'md'))
    page = list(page_rows(orch(*report, '-o', '-')))
    assert len(records) == len(rows) == len(lines) == len(page) > 0, word
    for record, row, line, cells in zip(records, rows, lines, page):
        assert record['id'] == row['id'], word
        where = f'{word}: {record["id"]}'
        for prefix, said in (('', record['measured']), ('estimated_', record.get('estimated', {}))):
            for name in QUANTITIES:
                hold_record(f'{where}: {prefix}{name}', prefix, name, said, row, line)
            hold_page(where, prefix, said, cells)
        if record['id'] in plans:
            for name in QUANTITIES:
                if name in plans[record['id']]:
                    hold(f'{where}: {name} in plan and report', plans[record['id']][name],
                         record['estimated'].get(name), 1e-6)
    return records


def stated(name, said):
    """What a record says of a quantity; TFLOPs come by convention."""
    if name != 'tflops_per_gpu' or 'tflops' not in said:
        value = said.get(name)
        return value.get('value') if isinstance(value, dict) else value
    return said['tflops'][0]['per_gpu']


def hold_record(where, prefix, name, said, row, line):
    truth = stated(name, said)
    # CSV has bytes as integers.
    hold(f'{where} in JSON and CSV', truth, number(row.get(prefix + name)), EXACT, 0.5 if name.endswith('_bytes') else 0)
    head = next((head for head, quantity in SHOWN.items() if quantity == name), None)
    head = f'est. {head}' if prefix else head
    if head in line and name != 'tflops_per_gpu':
        shown(f'{where} in the table', name, truth, re.sub(r'\*', '', line[head]))


def hold_page(where, prefix, said, cells):
    for column, under, value in cells:
        name = PAGE.get(column.removeprefix('estimated_'))
        if name is None or column.startswith('estimated_') != bool(prefix):
            continue
        truth = stated(name, said)
        if name == 'tflops_per_gpu':
            if prefix and 'simple' in under:
                truth = said.get('tflops_per_gpu_simple')
            elif not prefix:
                truth = next((held['per_gpu'] for held in said.get('tflops', ())
                              if under == 'measured, ' + held['convention']), None)
        if truth is None and name in ('step_seconds', 'days_per_100b_tokens', 'tokens_per_second'):
            continue  # the page derives one of these from another
        hold(f'{where}: {column} on the page', in_unit(name, truth), value, EXACT)


def days_of(record):
    """As they are stated, or by the time of a step."""
    measured = record['measured']
    if 'days_per_100b_tokens' in measured:
        return [measured['days_per_100b_tokens']]
    if 'step_seconds' not in measured or 'global_batch' not in record or 'seq' not in record:
        return []
    steps = 1e11 / (record['global_batch'] * record['seq'])
    return [steps * stated('step_seconds', measured) / 86400]


def check_fewest(source, records):
    """The head of a page has the fewest days that were measured and that one may believe."""
    believed = [days for record in records if record['state'] == 'finished' and
                all(doubt['kind'] == 'disagree' for doubt in record.get('doubts', ()))
                for days in days_of(record)]
    page = orch('report', source, '-o', '-')
    head = page[page.index('<header>'):page.index('</header>')]
    told = [float(days) for days in re.findall(
        r'<strong>([0-9.]+)(?: days</strong> per 100B tokens measured|</strong>(?: with [^<,]*)?, measured)', head)]
    assert told, head
    hold(f'{source}: the fewest days of the head', min(believed), min(told), 1e-3)


def main():
    for file in sys.argv[2:]:
        check_records(file, check_plan(file))
    for source in SOURCES:
        check_fewest(source, check_records(source, {}))
    print(f'{held} numbers held against each other')
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
