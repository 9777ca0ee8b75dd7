// Axes and frames of the charts with two scales.

const kMargin = {top: 12, right: 16, bottom: 44, left: 62};

// 1, 2 and 5 of each decade, or only 1 where there are many.
function decades(scale) {
  const [low, high] = scale.domain();
  const wide = Math.log10(high / low);
  const steps = wide > 6 ? [1] : wide > 3 ? [1, 5] : [1, 2, 5];
  const out = [];
  for (let d = Math.floor(Math.log10(low)); d <= Math.log10(high); d += 1)
    for (const step of steps) out.push(step * 10 ** d);
  const inside = out.filter((v) => v >= low * 0.9999 && v <= high * 1.0001);
  return inside.length > 1 ? inside : scale.ticks(5);
}

// A logarithmic scale around all values, with some room.
function logScale(values, range, least = 1.6) {
  let [low, high] = d3.extent(values);
  const factor = Math.max((high / low) ** 0.06, Math.sqrt(Math.max(1, least / (high / low))), 1.05);
  return d3.scaleLog().domain([low / factor, high * factor]).range(range);
}

// Those ticks whose words do not touch.
function apart(ticks, scale, least) {
  let last = -Infinity;
  return ticks.filter((tick) => {
    if (Math.abs(scale(tick) - last) < least) return false;
    last = scale(tick);
    return true;
  });
}

function yAxis(svg, scale, ticks, width, label, format = text) {
  const axis = svg.append('g').attr('class', 'axis');
  for (const tick of ticks) {
    axis.append('line').attr('class', 'grid').attr('y1', scale(tick)).attr('y2', scale(tick))
      .attr('x1', kMargin.left).attr('x2', width - kMargin.right);
    axis.append('text').attr('x', kMargin.left - 8).attr('y', scale(tick)).attr('dy', '0.32em')
      .attr('text-anchor', 'end').text(format(tick));
  }
  const middle = (scale.range()[0] + scale.range()[1]) / 2;
  axis.append('text').attr('class', 'label').attr('text-anchor', 'middle')
    .attr('transform', `translate(12 ${middle}) rotate(-90)`).text(label);
}

function xAxis(svg, scale, ticks, bottom, top, label, format = text) {
  const axis = svg.append('g').attr('class', 'axis');
  for (const tick of ticks) {
    axis.append('line').attr('class', 'grid').attr('x1', scale(tick)).attr('x2', scale(tick))
      .attr('y1', top).attr('y2', bottom);
    axis.append('text').attr('x', scale(tick)).attr('y', bottom + 16).attr('text-anchor', 'middle')
      .text(format(tick));
  }
  const middle = (scale.range()[0] + scale.range()[1]) / 2;
  axis.append('text').attr('class', 'label').attr('x', middle).attr('y', bottom + 36)
    .attr('text-anchor', 'middle').text(label);
}

// By number of GPUs: equal steps for equal factors.
const gpuScale = (counts, width) =>
  logScale(counts, [kMargin.left + 8, width - kMargin.right - 8]);

const heightFor = (width) => Math.round(Math.min(420, Math.max(280, width * 0.5)));
