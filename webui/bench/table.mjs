// Figures and their output.

export function quantile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

export const p50 = (values) => quantile(values, 0.5);
export const p95 = (values) => quantile(values, 0.95);

export function formatNumber(value) {
  if (!Number.isFinite(value)) return '-';
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

export class Table {
  #rows = [];

  // `limit`: the maximum allowed value.
  add(number, what, unit, value, limit, note = '') {
    const row = { number, what, value: `${formatNumber(value)} ${unit}`, target: `${limit} ${unit}`, met: value <= limit, note };
    this.#rows.push(row);
    const { met } = row;
    process.stdout.write(`${String(number).padStart(2)}  ${what.padEnd(58)} ${row.value.padStart(11)}  ${`<= ${row.target}`.padEnd(12)} ${met ? 'met' : 'MISSED'} ${note}\n`);
  }

  addTimes(number, what, values, limits) {
    const note = `(p50 ${formatNumber(p50(values))}, p95 ${formatNumber(p95(values))}, worst ${formatNumber(Math.max(...values))}, ${values.length} times)`;
    if (limits.p50 !== undefined) this.add(number, `${what}, p50`, 'ms', p50(values), limits.p50, limits.p95 === undefined ? note : '');
    if (limits.p95 !== undefined) this.add(number, `${what}, p95`, 'ms', p95(values), limits.p95, note);
    if (limits.worst !== undefined) this.add(number, `${what}, longest`, 'ms', Math.max(...values), limits.worst, `(${values.length} of them)`);
  }

  markdown() {
    const line = (cells) => `| ${cells.join(' | ')} |`;
    return [
      line(['#', 'what', 'measured', 'target', '']),
      line(['---', '---', '---', '---', '---']),
      ...this.#rows.map((row) => line([row.number, row.what, row.value, `<= ${row.target}`, row.met ? 'met' : 'missed'])),
    ].join('\n');
  }

  get missed() {
    return this.#rows.filter((row) => !row.met).length;
  }
}
