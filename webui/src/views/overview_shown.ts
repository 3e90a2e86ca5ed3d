// The rows of the overview with the values that they show.

import { useMemo } from 'react';
import { visible } from '../base/visible';
import { byModule, combine, rangeOf, writeLevels, type Range } from '../overview/matrix';
import { COMBINATIONS } from '../overview/measures';
import type { Levels } from '../overview/pixels';
import type { ModuleTree, Row } from '../overview/rows';
import type { OverviewData } from '../state/overview_data';
import { classOfModule, useOverview } from '../state/overview_store';
import { useScopes } from '../state/scopes';
import * as words from '../words/overview';

// As many rows are shown at first.
const FIRST_ROWS = { least: 8, most: 64 };

export const firstOpen = (tree: ModuleTree): ReadonlySet<string> => tree.firstOpen(FIRST_ROWS.least, FIRST_ROWS.most);

// Both matrices of the data by module, then step.
interface Columns {
  values: Float32Array;
  bad: Float32Array;
}

export interface Shown {
  data: OverviewData;
  rows: readonly Row[];
  // By row: its label, as it is drawn.
  labels: readonly string[];
  // By row: the class of its module, or an empty text.
  classes: readonly string[];
  columns: Columns;
  levels: Levels;
  range: Range;
}

// The values of a row by step, and the counts of what is not finite.
export const valuesOf = ({ data, columns }: Shown, { members }: Row): Float32Array =>
  combine(columns.values, data.steps.length, members, COMBINATIONS[data.measure]);
export const badOf = ({ data, columns }: Shown, { members }: Row): Float32Array =>
  combine(columns.bad, data.steps.length, members, 'sum');

function labelOf({ path, label, key }: Row): string {
  if (path === '' && key === '') return words.outside;
  return label === '' ? words.ownValues : visible(label);
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function useShown(data: OverviewData | null, tree: ModuleTree): Shown | null {
  const chosen = useOverview((state) => state.open);
  const open = useMemo(() => chosen ?? firstOpen(tree), [chosen, tree]);
  const rows = useMemo(() => tree.rows(open), [tree, open]);
  const rangeOfAll = useMemo(() => (data === null ? null : rangeOf(data.measure, data.values.values)), [data]);
  const columns = useMemo(() => (data === null ? null : { values: byModule(data.values), bad: byModule(data.bad) }), [data]);
  const index = useScopes((state) => state.index);
  const classes = useMemo(() => rows.map(({ path, label }) => (label === '' ? '' : visible(classOfModule(index, path)))), [rows, index]);
  return useMemo(() => {
    if (data === null || rangeOfAll === null || columns === null) return null;
    const steps = data.steps.length;
    const levels = new Uint8Array(rows.length * steps);
    const shown = { data, rows, labels: rows.map(labelOf), classes, columns, levels: { rows: rows.length, columns: steps, levels }, range: rangeOfAll };
    const values = rows.map((row) => valuesOf(shown, row));
    // A group takes many times as long as each of its modules.
    if (data.measure === 'time') shown.range = rangeOf(data.measure, joined(values));
    rows.forEach((each, row) => {
      writeLevels(values[row] as Float32Array, badOf(shown, each), shown.range, levels.subarray(row * steps, (row + 1) * steps));
    });
    return shown;
  }, [data, rows, rangeOfAll, columns, classes]);
}

export function rowName({ path, label, key }: Row): string {
  if (path === '' && key === '') return words.outside;
  return label === '' ? `${visible(path)} ${words.ownValues}` : visible(path);
}

// The value of a cell as text, such as "0.25, mean of 4 modules, 3 NaN/Inf".
export function cellText(shown: Shown, row: Row, column: number): string {
  const { measure } = shown.data;
  const parts = [words.formatMeasure(measure, valuesOf(shown, row)[column] ?? NaN)];
  if (row.members.length > 1) parts.push(words.combined[COMBINATIONS[measure]](row.members.length));
  const bad = badOf(shown, row)[column] ?? 0;
  if (bad > 0 && measure !== 'non_finite') parts.push(words.badValues(bad));
  return parts.join(', ');
}
