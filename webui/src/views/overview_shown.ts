// The rows of the overview with the values that they show.

import { useMemo } from 'react';
import { visible } from '../base/visible';
import { combine, combineAt, rangeOf, writeLevels, type Range } from '../overview/matrix';
import { COMBINATIONS } from '../overview/measures';
import type { Levels } from '../overview/pixels';
import type { ModuleTree, Row } from '../overview/rows';
import type { OverviewData } from '../state/overview_data';
import { useOverview } from '../state/overview_store';
import * as words from '../words/overview';

// As many rows are shown at first.
const FIRST_ROWS = { least: 8, most: 64 };

export const firstOpen = (tree: ModuleTree): ReadonlySet<string> => tree.firstOpen(FIRST_ROWS.least, FIRST_ROWS.most);

export interface Shown {
  data: OverviewData;
  rows: readonly Row[];
  // By row: its label, as it is drawn.
  labels: readonly string[];
  levels: Levels;
  range: Range;
}

function labelOf({ path, label, key }: Row): string {
  if (path === '' && key === '') return words.outside;
  return label === '' ? words.ownValues : visible(label);
}

export function useShown(data: OverviewData | null, tree: ModuleTree): Shown | null {
  const chosen = useOverview((state) => state.open);
  const open = useMemo(() => chosen ?? firstOpen(tree), [chosen, tree]);
  const rows = useMemo(() => tree.rows(open), [tree, open]);
  const range = useMemo(() => (data === null ? null : rangeOf(data.measure, data.values.values)), [data]);
  return useMemo(() => {
    if (data === null || range === null) return null;
    const columns = data.steps.length;
    const levels = new Uint8Array(rows.length * columns);
    const how = COMBINATIONS[data.measure];
    rows.forEach(({ members }, row) => {
      const values = combine(data.values, members, how);
      const bad = combine(data.bad, members, 'sum');
      writeLevels(values, bad, range, levels.subarray(row * columns, (row + 1) * columns));
    });
    return { data, rows, labels: rows.map(labelOf), levels: { rows: rows.length, columns, levels }, range };
  }, [data, rows, range]);
}

export function rowName({ path, label, key }: Row): string {
  if (path === '' && key === '') return words.outside;
  return label === '' ? `${visible(path)} ${words.ownValues}` : visible(path);
}

// The value of a cell as text, such as "0.25, mean of 4 modules, 3 NaN/Inf".
export function cellText({ data }: Shown, row: Row, column: number): string {
  const how = COMBINATIONS[data.measure];
  const parts = [words.formatMeasure(data.measure, combineAt(data.values, row.members, how, column))];
  if (row.members.length > 1) parts.push(words.combined[how](row.members.length));
  const bad = combineAt(data.bad, row.members, 'sum', column);
  if (bad > 0 && data.measure !== 'non_finite') parts.push(words.badValues(bad));
  return parts.join(', ');
}
