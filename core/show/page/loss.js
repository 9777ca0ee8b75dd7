// Loss curves by tokens, or by steps where the tokens of a run are not known.

// A point of a curve is [step, tokens, loss].
function lossFinding(shown, byTokens) {
  const last = (run) => run.losses[run.losses.length - 1];
  const words = shown.map((run) => `${text(last(run)[2])} of ${cut(run.id || 'no name', 60)}`);
  if (several(shown.map((run) => run.model || '')))
    return `Last losses, of different models: ${listed(words.slice(0, 4))}.`;
  const whole = shown.filter((run) => !run.nan);
  const best = (whole.length > 0 ? whole : shown).reduce((a, b) => last(b)[2] < last(a)[2] ? b : a);
  const at = byTokens ? `${tokens(last(best)[1])} tokens` : `step ${text(last(best)[0])}`;
  const resumes = d3.sum(shown, (run) => (run.resumes || []).length);
  return `Lowest last loss: ${text(last(best)[2])} of ${cut(best.id || 'no name', 60)} at ${at}.` +
    (resumes > 0 ? ` ${counted(resumes, 'resume')} marked.` : '');
}

function lossChart() {
  const shown = runs.filter((run) => run.losses);
  if (shown.length === 0) return null;
  const byTokens = shown.every((run) => run.losses.some((point) => point[1] > 0));
  const nan = runs.filter((run) => run.nan)
    .map((run) => `${cut(run.id || 'no name', 60)}: ${run.nan}`);
  const lines = shown.map((run) => ({run, points: run.losses}));
  return curveChart(lines, {
    along: (p) => p[byTokens ? 1 : 0], value: (p) => p[2], label: 'loss',
    alongLabel: byTokens ? 'tokens' : 'steps', alongFormat: byTokens ? tokens : text,
  }, {
    finding: lossFinding(shown, byTokens),
    note: notes(longest(lines), nan.length > 0 && `${cut(listed(nan), 400)}.`),
    columns: ['Run', 'Step', 'Tokens', 'Loss'],
    rows: curveRows(lines, ([step, trained, loss]) => [step, trained ? tokens(trained) : '', loss]),
  });
}
