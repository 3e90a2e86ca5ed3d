import { describe, expect, it } from 'vitest';
import { bandPath, barPath, linePath } from './curves';
import { distributionScale } from './distribution';
import { byModule, combine, FIRST_LEVEL, LAST_LEVEL, NOT_FINITE, NOT_MEASURED, rangeOf, writeLevels, type Matrix, type Range } from './matrix';
import type { Combination } from './measures';
import { blockOf, paintLevels, reduceColumns } from './pixels';
import { between, coloursOf, pack, parseRgb } from './ramp';
import { ModuleTree } from './rows';
import { columnAt, followSpan, panSpan, placeOf, revealColumn, spanBetween, wholeSpan, zoomSpan } from './span';
import { stepTicks } from './step_ticks';
import { columnOf, measuringShare, strideOf, timeLimit } from './steps';

describe('rows', () => {
  const tree = new ModuleTree(['embed', 'h/0/attn', 'h/0', 'h/1/attn', 'h/1', '']);
  const shown = (open: string[]) => tree.rows(new Set(open)).map(({ path, depth, members, folded }) => [path, depth, [...members], folded]);

  it('fold what is inside of a group into one row', () => {
    expect(shown([])).toEqual([
      ['embed', 0, [0], null],
      ['h', 0, [2, 1, 4, 3], true],
      ['', 0, [5], null],
    ]);
  });

  it('show a group that is open with its own values and its children, in execution order', () => {
    expect(shown(['h', 'h/0']).slice(1, 5)).toEqual([
      ['h', 0, [2, 1, 4, 3], false],
      ['h/0', 1, [2, 1], false],
      ['h/0', 2, [2], null],
      ['h/0/attn', 2, [1], null],
    ]);
    const keys = tree.rows(new Set(['h', 'h/0'])).map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('are opened at first level by level, as long as they fit', () => {
    expect([...tree.firstOpen(1, 4)]).toEqual([]);
    expect([...tree.firstOpen(1, 5)]).toEqual(['h']);
    expect([...tree.firstOpen(1, 100)]).toEqual(['h', 'h/0', 'h/1']);
    expect([...tree.firstOpen(4, 4)]).toEqual(['h']);
    expect(tree.groups()).toEqual(['h', 'h/0', 'h/1']);
  });
});

describe('values of a group', () => {
  // Two steps of three modules.
  const matrix: Matrix = { modules: 3, steps: 2, values: Float32Array.of(3, 4, 9, NaN, NaN, 9) };

  const columns = byModule(matrix);
  const combined = (members: number[], how: Combination) => [...combine(columns, 2, members, how)];

  it('are read by module', () => {
    expect([...columns]).toEqual([3, NaN, 4, NaN, 9, 9]);
    const large = { modules: 37, steps: 3, values: Float32Array.from({ length: 37 * 3 }, (_, i) => i) };
    expect([...combine(byModule(large), 3, [36], 'mean')]).toEqual([36, 73, 110]);
  });

  it('are combined as the measure needs', () => {
    expect(combined([0, 1], 'mean')).toEqual([3.5, NaN]);
    expect(combined([0, 1], 'norm')).toEqual([5, NaN]);
    expect(combined([0, 1, 2], 'largest')).toEqual([9, 9]);
    expect(combined([0, 1, 2], 'sum')).toEqual([16, 9]);
    expect(combined([2], 'mean')).toEqual([9, 9]);
  });
});

describe('levels of colour', () => {
  const levelsOf = (values: number[], range: Range, bad = values.map(() => 0)) => {
    const levels = new Uint8Array(values.length);
    writeLevels(Float32Array.from(values), Float32Array.from(bad), range, levels);
    return [...levels];
  };
  const log: Range = { logarithmic: true, low: 1e-4, high: 1 };

  it('grow with the logarithm, and have zero at their low end', () => {
    expect(levelsOf([0, 1e-9, 1e-4, 1, 50], log)).toEqual([FIRST_LEVEL, FIRST_LEVEL, FIRST_LEVEL, LAST_LEVEL, LAST_LEVEL]);
    const [quarter, middle] = levelsOf([0.001, 0.01], log) as [number, number];
    expect(middle - FIRST_LEVEL).toBeCloseTo(2 * (quarter - FIRST_LEVEL), -1);
  });

  it('tell what is not finite from what was not measured', () => {
    expect(levelsOf([NaN, NaN, Infinity, 0.5], log, [0, 2, 0, 1])).toEqual([NOT_MEASURED, NOT_FINITE, NOT_FINITE, NOT_FINITE]);
    expect(levelsOf([NaN], log, [NaN])).toEqual([NOT_MEASURED]);
  });

  it('span almost all values of a logarithmic measure, between round numbers', () => {
    const values = Float32Array.from({ length: 1000 }, (_, i) => (i === 0 ? 1e30 : 10 ** (-3 + (i % 30) / 10)));
    expect(rangeOf('gradient', values)).toEqual({ logarithmic: true, low: 0.001, high: 1 });
    expect(rangeOf('gradient', Float32Array.of(NaN, 0))).toEqual({ logarithmic: true, low: 0.1, high: 1 });
    expect(rangeOf('update', Float32Array.of(0.002, 0.002))).toMatchObject({ low: 0.002, high: 0.02 });
    expect(rangeOf('zeros', values)).toEqual({ logarithmic: false, low: 0, high: 1 });
  });
});

describe('pixels', () => {
  it('of many steps show what is not finite in any of them', () => {
    const levels = Uint8Array.of(3, NOT_FINITE, 0, 0, 7, 9, 2, 2, 2, 0);
    const { columns, levels: reduced } = reduceColumns({ rows: 2, columns: 5, levels }, 2);
    expect(columns).toBe(3);
    expect([...reduced]).toEqual([NOT_FINITE, 0, 7, 9, 2, 0]);
  });

  it('are at least almost a pixel wide', () => {
    expect([2, 0.76, 0.5, 0.1].map(blockOf)).toEqual([1, 1, 2, 8]);
  });

  it('are those of the part in view', () => {
    const colours = Uint32Array.from({ length: 256 }, (_, i) => i * 10);
    const pixels = new Uint32Array(2);
    paintLevels({ rows: 2, columns: 3, levels: Uint8Array.of(0, 1, 2, 3, 4, 5) }, { row: 1, column: 1, rows: 1, columns: 2 }, colours, pixels);
    expect([...pixels]).toEqual([40, 50]);
  });

  it('have the colours of the ramp', () => {
    expect(parseRgb('#0d3a63')).toEqual([13, 58, 99]);
    expect(between([[0, 0, 0], [100, 0, 0], [100, 200, 0]], 0.75)).toEqual([100, 100, 0]);
    const colours = coloursOf([[0, 0, 0], [254, 0, 0]], [1, 2, 3], [255, 0, 0]);
    expect(colours[NOT_MEASURED]).toBe(pack([1, 2, 3]));
    expect(colours[NOT_FINITE]).toBe(pack([255, 0, 0]));
    expect(colours[LAST_LEVEL]).toBe(pack([254, 0, 0]));
    expect(pack([255, 0, 0])).toBe(0xff0000ff);
  });
});

describe('the steps in view', () => {
  it('are zoomed around a place, within bounds', () => {
    expect(zoomSpan({ from: 0, to: 100 }, 2, 25, 100)).toEqual({ from: 12.5, to: 62.5 });
    expect(zoomSpan({ from: 50, to: 100 }, 0.1, 100, 100)).toEqual({ from: 0, to: 100 });
    const least = zoomSpan({ from: 0, to: 100 }, 1000, 99.5, 100);
    expect(least.to - least.from).toBeCloseTo(4);
    expect(zoomSpan(wholeSpan(2), 8, 1, 2)).toEqual({ from: 0, to: 2 });
  });

  it('are moved within bounds', () => {
    expect(panSpan({ from: 10, to: 20 }, -30, 100)).toEqual({ from: 0, to: 10 });
    expect(panSpan({ from: 10, to: 20 }, 500, 100)).toEqual({ from: 90, to: 100 });
    expect(revealColumn({ from: 10, to: 20 }, 25, 100)).toEqual({ from: 16, to: 26 });
    expect(revealColumn({ from: 10, to: 20 }, 12, 100)).toEqual({ from: 10, to: 20 });
  });

  it('are selected by dragging in either direction', () => {
    expect(spanBetween(30.4, 10.7, 100)).toEqual({ from: 10, to: 31 });
    expect(spanBetween(99.2, 99.4, 100)).toEqual({ from: 96, to: 100 });
  });

  it('follow the last step, or stay where they are', () => {
    expect(followSpan({ from: 90, to: 100 }, 0, 100, 103)).toEqual({ from: 93, to: 103 });
    expect(followSpan({ from: 20, to: 30 }, 5, 1000, 1000)).toEqual({ from: 15, to: 25 });
  });

  it('have places on the page', () => {
    const [span, frame] = [{ from: 10, to: 20 }, { left: 100, width: 50 }];
    expect(placeOf(12, span, frame)).toBe(110);
    expect(columnAt(110, span, frame)).toBe(12);
  });
});

describe('facts about steps', () => {
  const steps = [2, 4, 6, 9].map((step) => ({ step, duration_ms: 10, measuring_ms: 0.2 }));

  it('are the share of measuring, and how many are left out', () => {
    expect(measuringShare(steps)).toBeCloseTo(0.02);
    expect(measuringShare([])).toBeNull();
    expect(strideOf(steps)).toBe(2);
    expect(strideOf([])).toBe(1);
  });

  it('have a limit of their time, above which a few very long ones are cut off', () => {
    const times = Array.from({ length: 100 }, (_, i) => 50 + (i % 5));
    expect(timeLimit(times)).toBe(54);
    expect(timeLimit([900, ...times])).toBe(81);
    expect(timeLimit([10, 900])).toBe(900);
    expect(timeLimit([])).toBe(1);
  });

  it('have the column of each step', () => {
    expect([1, 2, 5, 9, 99].map((step) => columnOf(steps, step))).toEqual([-1, 0, 1, 3, 3]);
  });
});

describe('curves', () => {
  const half = (value: number) => 1 - value / 2;

  it('have gaps where there is no value', () => {
    expect(linePath([0, 1, null, 2, NaN], half)).toBe('M0.5 1.0000h0L1.5 0.5000M3.5 0.0000h0');
  });

  it('enclose bands', () => {
    expect(bandPath([0, 0, null], [2, 1, 1], half)).toBe('M0.5 0.0000L1.5 0.5000L1.5 1.0000L0.5 1.0000Z');
    expect(bandPath([0], [2], half)).toBe('M0 0.0000L1 0.0000L1 1.0000L0 1.0000Z');
  });

  it('are bars that stay in view', () => {
    expect(barPath([5, 0, 20], 10)).toBe('M0.08 1.0000V0.5000h0.84V1ZM2.08 1.0000V0.0000h0.84V1Z');
  });

  it('of distributions show both the middle and outliers', () => {
    const scale = distributionScale([-100, -100], [100, 1000], [-1, -1], [1, 1]);
    if (scale === null) throw new Error('there are values');
    const size = (from: number, to: number) => scale.place(from) - scale.place(to);
    // The middle, a thousandth of the range, has a tenth of the height.
    expect(size(-1, 1)).toBeGreaterThan(0.1);
    expect(scale.place(1000)).toBeGreaterThan(0);
    expect(scale.place(-100)).toBeLessThan(1);
    expect(scale.ticks).toContain(0);
    const places = scale.ticks.map(scale.place);
    expect(places.length).toBeGreaterThanOrEqual(3);
    places.slice(1).forEach((place, i) => expect((places[i] as number) - place).toBeGreaterThan(0.1));
    expect(distributionScale([null], [null], [null], [null])).toBeNull();
  });
});

describe('ticks of the steps', () => {
  const frame = { left: 100, width: 500 };
  const at = (numbers: number[]) => {
    const steps = numbers.map((step) => ({ step }));
    return stepTicks(steps, wholeSpan(steps.length), frame);
  };

  it('are round numbers', () => {
    expect(at(Array.from({ length: 1000 }, (_, i) => i + 1)).map(({ step }) => step)).toEqual([200, 400, 600, 800, 1000]);
  });

  it('keep their distance where most steps of a range were not measured', () => {
    // The first ten steps, and then a few that are far apart.
    const ticks = at([...Array.from({ length: 10 }, (_, i) => i + 1), 100_000, 200_000]);
    expect(ticks.length).toBeGreaterThan(1);
    const apart = ticks.slice(1).map(({ label_x }, i) => label_x - (ticks[i]?.label_x ?? 0));
    expect(Math.min(...apart)).toBeGreaterThan(6 * 6.92);
  });

  it('have labels inside of the frame', () => {
    for (const { step, label_x } of at(Array.from({ length: 12 }, (_, i) => 999_990 + i))) {
      expect(label_x + (String(step).length * 6.92) / 2).toBeLessThanOrEqual(600);
    }
  });
});
