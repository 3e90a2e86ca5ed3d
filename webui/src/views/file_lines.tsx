// A whole source file, as far as its lines are known, with the ops and hits of each line.

import { useEffect, useMemo, useRef, type KeyboardEvent } from 'react';
import type { SourceLine } from '../api/types';
import { compactCount, formatCount } from '../base/format';
import { pythonPieces } from '../base/python';
import { fileRows, isGap, type FileLine } from '../index/file_lines';
import { describe } from '../state/describe';
import { useFileCode } from '../state/file_code';
import { useJob } from '../state/job_store';
import { useScopes } from '../state/scopes';
import * as counts from '../words/counts';
import * as words from '../words/node';
import { useJobContext } from './job_context';
import './file_lines.css';

interface RowProps {
  row: FileLine;
  current: boolean;
  onChoose: () => void;
}

function Columns({ line, text, ops, hits }: FileLine) {
  return (
    <>
      <span className="file-hits" aria-hidden>{hits > 0 && `▲ ${compactCount(hits)}`}</span>
      <span className="file-ops" aria-hidden>{ops > 0 && compactCount(ops)}</span>
      <span className="source-number" aria-hidden>{line}</span>
      <code>
        {pythonPieces(text).map(({ kind, text: piece }, i) => (
          // Pieces are identified only by their position.
          // oxlint-disable-next-line react/no-array-index-key
          <span key={i} className={`code-${kind}`}>
            {piece}
          </span>
        ))}
      </code>
    </>
  );
}

// A line with ops is a button.
function Row({ row, current, onChoose }: RowProps) {
  const { line, ops, hits } = row;
  if (ops === 0 && !current) return <li className="file-line"><Columns {...row} /></li>;
  const said = [words.lineNumber(line), ops > 0 ? counts.ops(ops) : '', hits > 0 ? counts.hits(hits) : ''];
  return (
    <li>
      <button
        type="button"
        className="file-line"
        tabIndex={current ? 0 : -1}
        aria-current={current || undefined}
        aria-description={said.filter((part) => part !== '').join(', ')}
        onClick={onChoose}
      >
        <Columns {...row} />
      </button>
    </li>
  );
}

// Moves the focus among the lines, of which one is in the tab order.
function moveFocus(event: KeyboardEvent<HTMLOListElement>): void {
  const lines = [...event.currentTarget.querySelectorAll<HTMLElement>('button.file-line')];
  const at = lines.indexOf(event.target as HTMLElement);
  const places: Record<string, number> = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: lines.length - 1 };
  const line = lines[places[event.key] ?? -1];
  if (line === undefined) return;
  line.focus();
  event.preventDefault();
  event.stopPropagation();
}

const NONE: ReadonlyMap<number, string> = new Map();

interface Props {
  line: SourceLine;
  // The code of further lines.
  also?: ReadonlyMap<number, string>;
  onChoose: (line: SourceLine) => void;
}

export function FileLines({ line, also = NONE, onChoose }: Props) {
  const { id, hitIndex } = useJobContext();
  const version = useJob(({ model }) => model.graph_version);
  const index = useScopes((state) => state.index);
  const { data, error } = useFileCode(id, line.file, version);
  const list = useRef<HTMLOListElement>(null);
  const rows = useMemo(() => {
    const texts = new Map([...also, ...(data ?? [])]);
    if (line.text) texts.set(line.line, texts.get(line.line) ?? line.text);
    return index === null ? [] : fileRows(index, line.file, texts, hitIndex, line.line);
  }, [index, line, data, also, hitIndex]);
  const ready = rows.length > 0;
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [line.line, ready]);
  if (error !== null) return <p className="pane-error">{describe(error)}</p>;
  return (
    <>
      <p className="file-head" aria-hidden>
        <span className="file-hits">{words.hitsColumn}</span>
        <span className="file-ops">{words.opsColumn}</span>
      </p>
      <ol ref={list} className="file-lines" aria-label={words.wholeFile} onKeyDown={moveFocus}>
        {rows.map((row) =>
          isGap(row) ? (
            <li key={`-${row.from}`} className="file-gap">
              {words.unknownLines(formatCount(row.to - row.from + 1))}
            </li>
          ) : (
            <Row
              key={row.line}
              row={row}
              current={row.line === line.line}
              onChoose={() => onChoose({ file: line.file, line: row.line, text: row.text })}
            />
          ),
        )}
      </ol>
    </>
  );
}
