"""What the charts of a page must show, counted from its records."""
import json


def records(path):
    return json.loads(path.read_text())


def counts(run):
    """Whether the speed of a run counts: no matter how it ended, once steps were timed."""
    timed = 'step' in run or 'days' in run
    ran = timed or 'memory' in run
    return (run['failure'] not in ('gpu_memory', 'host_memory') and
            all(kind == 'disagree' for kind in run['doubts']) and
            (run['state'] != 'failed' or timed) and (run.get('fit') != 'oom' or ran))


def by_series(runs, key):
    """The numbers of GPUs of each strategy and model that have a number."""
    out = {}
    for run in runs:
        if counts(run) and key in run and 'gpus' in run:
            out.setdefault((run['strategy'], run['model']), set()).add(run['gpus'])
    return out


def fewest(runs):
    """The fewest days by strategy, GPUs and kind."""
    out = {}
    for run in filter(counts, runs):
        for kind, key in (('measured', 'days'), ('estimated', 'estimated_days')):
            if key in run:
                place = (run['strategy'], run['gpus'], kind)
                out[place] = min(out.get(place, 1e99), run[key])
    return out


def best_days(run):
    return run.get('days', run.get('estimated_days', 1e99))


def quality(run):
    return not counts(run), 'days' not in run, best_days(run)


def best_first(some, most):
    """The best of each strategy and model, then the best of the others; some are sorted."""
    firsts, others, seen = [], [], set()
    for run in some:
        series = run['strategy'], run['model']
        (others if series in seen else firsts).append(run)
        seen.add(series)
    return (firsts + others)[:most]


def first(runs, keys, rank=quality, most=20):
    """How many of the runs that are drawn one by one have each of the keys: the best come first."""
    some = sorted((run for run in runs if any(run.get(key) for key in keys)), key=rank)
    return [sum(1 for run in best_first(some, most) if run.get(key)) for key in keys]


def fullest(runs, most=20):
    """Marks of memory: of the ten best runs and of the ten fullest others, or of all."""
    some = sorted((run for run in runs if 'memory' in run or 'estimated_memory' in run), key=quality)
    best = some if len(some) <= most else best_first(some, most // 2)
    chosen = {id(run) for run in best}
    others = sorted((run for run in some if id(run) not in chosen), reverse=True,
                    key=lambda run: run.get('memory', run.get('estimated_memory')) / run.get('limit', 1))
    return sum(('memory' in run) + ('estimated_memory' in run) for run in best + others[:most - len(best)])


FREE = ('gpus', 'nodes', 'data_parallel', 'accumulate', 'global_batch')


def families(runs):
    """Runs that tell how one configuration scales: the same but for GPUs and either kind of batch."""
    out = {}
    for run in runs:
        rest = frozenset(pair for pair in run['fields'].items() if pair[0] not in FREE)
        for fixed in ('global_batch', 'accumulate'):
            if run['fields'].get(fixed):
                out.setdefault((rest, fixed, run['fields'][fixed]), []).append(run)
    return out.values()


def family_marks(some):
    """Marks of a family: measured, and in all."""
    gpus = [{run['gpus'] for run in some if key in run} for key in ('days', 'estimated_days')]
    marks = [len(found) if len(found) > 1 else 0 for found in gpus]
    return marks[0], sum(marks)


def scaling(runs):
    """Marks of the largest family of each strategy and model: most of them measured, then most; none
    where no family has three numbers of GPUs, as two are no curve."""
    out = {}
    usable = [run for run in runs if counts(run) and 'gpus' in run]
    if not any(len({run['gpus'] for run in some if key in run}) > 2
               for some in families(usable) for key in ('days', 'estimated_days')):
        return 0
    for some in families(usable):
        series = (some[0]['strategy'], some[0]['model'])
        out[series] = max(out.get(series, (0, 0)), family_marks(some))
    return sum(total for _, total in out.values())


def places(runs, x, y):
    """By strategy and the values of two fields: the fewest days, or None where no run fits."""
    out = {}
    for run in runs:
        out.setdefault((run['strategy'], run['fields'][x], run['fields'][y]), []).append(run)
    return {place: min((best_days(run) for run in some if counts(run)), default=None)
            for place, some in out.items()}


def marks(runs):
    """By chart: the marks that must be there."""
    measured, estimated = by_series(runs, 'days'), by_series(runs, 'estimated_days')
    days = sum(map(len, measured.values())) + sum(map(len, estimated.values()))
    gpus = [*measured.values(), *estimated.values()]
    if gpus and len(set.union(*gpus)) == 1:
        days = sum(first(filter(counts, runs), ['days', 'estimated_days'], best_days))
    curves = sorted((run['losses'] for run in runs if run['losses'] > 1), reverse=True)
    usable = [run for run in runs if counts(run) and 'gpus' in run and best_days(run) < 1e99]
    series = {(run['strategy'], run['model']) for run in usable}
    return {
        # Of each strategy and model, or of the runs where there is one.
        'best': min(7, len(series) if len(series) > 1 else len(usable)) if len(usable) > 1 else 0,
        'days': days,
        'scaling': scaling(runs),
        'time': 5 * sum(first(runs, ['items', 'estimated_items'])),  # five groups in every bar
        'memory': fullest(runs),
        'predicted': sum(1 for run in runs if 'step' in run and 'estimated_step' in run),
        'loss': min(8, len(curves)),
        'pace': min(8, sum(1 for run in runs if run['times'] > 1)),
        'peaks': min(8, sum(1 for run in runs if run['peaks'] > 1)),
    }
