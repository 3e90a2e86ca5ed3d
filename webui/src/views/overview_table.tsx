// The rows of the picture as a table, for those who do not see it and for exact values.

import { useMemo } from 'react';
import { extent } from '../overview/curves';
import type { Row } from '../overview/rows';
import { goToModule } from '../state/overview_store';
import * as words from '../words/overview';
import { OVERVIEW_BODY } from './overview_head';
import { badOf, rowName, valuesOf, type Shown } from './overview_shown';

interface Line {
  row: Row;
  className: string;
  last: number;
  range: [number, number] | null;
  // The number of steps with what is not finite.
  bad: number;
}

function linesOf(shown: Shown): Line[] {
  return shown.rows.map((row, i) => {
    const values = valuesOf(shown, row);
    const bad = badOf(shown, row).filter((count) => count > 0).length;
    return { row, className: shown.classes[i] ?? '', last: values.at(-1) ?? NaN, range: extent(values), bad };
  });
}

export function OverviewTable({ shown, onChoose }: { shown: Shown; onChoose: (row: Row) => void }) {
  const lines = useMemo(() => linesOf(shown), [shown]);
  const { measure, steps } = shown.data;
  const text = (value: number | undefined) => words.formatMeasure(measure, value ?? NaN);
  return (
    <div className="overview-table" id={OVERVIEW_BODY} tabIndex={0} role="group" aria-label={words.modulesOverSteps}>
      <table aria-label={words.measureTexts[measure]}>
        <thead>
          <tr>
            <th>{words.columns.module}</th>
            <th className="number">{words.columns.last}</th>
            <th className="number">{words.columns.least}</th>
            <th className="number">{words.columns.greatest}</th>
            <th className="number">{words.columns.bad}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ row, className, last, range, bad }) => (
            <tr key={row.key}>
              <td>
                <button
                  type="button"
                  className="link mono"
                  onClick={() => {
                    if (row.folded === null) onChoose(row);
                    goToModule(row.path, steps.at(-1)?.step ?? 0);
                  }}
                >
                  {rowName(row)}
                </button>
                {className !== '' && <span className="muted"> {className}</span>}
              </td>
              <td className="number mono">{text(last)}</td>
              <td className="number mono">{text(range?.[0])}</td>
              <td className="number mono">{text(range?.[1])}</td>
              <td className={`number mono${bad > 0 ? ' overview-bad-count' : ''}`}>{bad}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
