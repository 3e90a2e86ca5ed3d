// The source of a node: the line that created it, the other nodes of that line, the call
// stack, and the node's attributes.

import { Copy, FileCode2 } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useRef, useState, type RefObject } from 'react';
import type { NodeDetail, SourceLine } from '../api/types';
import { formatCount } from '../base/format';
import { fileName } from '../base/names';
import { pythonPieces } from '../base/python';
import { linesOf } from '../index/source_views';
import { copyText } from '../state/clipboard';
import { describe } from '../state/describe';
import { useJob } from '../state/job_store';
import { useCode, useNodesOfLine } from '../state/queries';
import { revealNode, useScopes } from '../state/scopes';
import { openNodeMenu, setWholeFile, touch, useUi } from '../state/ui';
import { Button } from '../widgets/button';
import { FullName } from '../widgets/full_name';
import { KindIcon } from '../widgets/kind_icon';
import { andMore } from '../words/common';
import * as counts from '../words/counts';
import * as words from '../words/node';
import { useJobContext } from './job_context';
import './source_pane.css';

const FileLines = lazy(async () => ({ default: (await import('./file_lines')).FileLines }));
const ParameterFacts = lazy(async () => ({ default: (await import('./parameter_facts')).ParameterFacts }));

function placeOf(line: SourceLine): string {
  return `${line.file}:${line.line}`;
}

function Code({ text }: { text: string }) {
  return (
    <>
      {pythonPieces(text.trim()).map(({ kind, text: piece }, i) => (
        // Pieces are identified only by their position.
        // oxlint-disable-next-line react/no-array-index-key
        <span key={i} className={`code-${kind}`}>
          {piece}
        </span>
      ))}
    </>
  );
}

// A search for the line finds the rest.
const MAX_LISTED = 200;

function NodesOfLine({ line, selected }: { line: SourceLine; selected: string }) {
  const { id } = useJobContext();
  const version = useJob((state) => state.model.graph_version);
  const found = useNodesOfLine(id, placeOf(line), version);
  if (found.error !== null) return <p className="pane-error">{describe(found.error)}</p>;
  const nodes = found.data?.nodes.filter((node) => node.kind !== 'scope') ?? [];
  if (found.data === undefined) return null;
  return (
    <details className="line-nodes" open={nodes.length > 1 && nodes.length <= 8}>
      <summary>
        {words.opsFromLine(
          found.data.next_cursor ? words.firstOps(formatCount(nodes.length)) : counts.ops(nodes.length),
        )}
      </summary>
      <ul>
        {nodes.slice(0, MAX_LISTED).map((node) => (
          <li key={node.name}>
            <button
              type="button"
              className="line-node"
              title={node.name}
              aria-current={node.name === selected || undefined}
              onClick={() => {
                touch();
                revealNode(node.name);
              }}
              onContextMenu={(event) => {
                event.preventDefault();
                openNodeMenu({ node: node.name, kind: node.kind, x: event.clientX, y: event.clientY });
              }}
            >
              <KindIcon kind={node.kind} category={node.category} />
              <FullName name={node.name} />
            </button>
          </li>
        ))}
        {nodes.length > MAX_LISTED && <li className="muted">{andMore(nodes.length - MAX_LISTED)}</li>}
      </ul>
    </details>
  );
}

// Number of lines shown before and after the source line.
const CONTEXT_LINES = 6;

// Keeps the marked line in view, also if the pane shrinks while its neighbours are loaded, until the
// user scrolls.
function useMarkedLineInView(list: RefObject<HTMLOListElement | null>, lines: number): void {
  useEffect(() => {
    const pane = list.current?.closest('.source');
    if (!pane) return undefined;
    const observer = new ResizeObserver(() => {
      list.current?.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
    });
    const stop = () => observer.disconnect();
    observer.observe(pane);
    pane.addEventListener('wheel', stop, { passive: true });
    return () => {
      stop();
      pane.removeEventListener('wheel', stop);
    };
  }, [list, lines]);
}

// The source line with the lines around it that also created nodes. The code of other lines
// is not available.
function Lines({ line, onChoose }: { line: SourceLine; onChoose: (line: SourceLine) => void }) {
  const { id } = useJobContext();
  const index = useScopes((state) => state.index);
  const near = useMemo(() => {
    const lines = index === null ? [] : linesOf(index, line.file);
    return lines.filter((other) => other !== line.line && Math.abs(other - line.line) <= CONTEXT_LINES);
  }, [index, line.file, line.line]);
  const code = useCode(id, useMemo(() => near.map((other) => `${line.file}:${other}`), [near, line.file]));
  const shown = [
    ...near.map((other): SourceLine => ({ file: line.file, line: other, text: code.get(`${line.file}:${other}`) ?? '' })),
    line,
  ].filter(({ text }) => (text ?? '') !== '');
  shown.sort((a, b) => a.line - b.line);
  const list = useRef<HTMLOListElement>(null);
  useMarkedLineInView(list, shown.length);
  return (
    <ol ref={list} className="source-lines">
      {shown.map((each) => (
        <li key={each.line}>
          <button
            type="button"
            className="source-text"
            aria-current={each.line === line.line || undefined}
            title={each.line === line.line ? undefined : words.showOps(placeOf(each))}
            onClick={() => onChoose(each)}
          >
            <span className="source-number" aria-hidden>
              {each.line}
            </span>
            <code>
              <Code text={each.text ?? ''} />
            </code>
          </button>
        </li>
      ))}
    </ol>
  );
}

interface CardProps {
  line: SourceLine;
  selected: string;
  onChoose: (line: SourceLine) => void;
}

function Card({ line, selected, onChoose }: CardProps) {
  const whole = useUi((state) => state.whole_file);
  return (
    <div className="source-line">
      <div className="source-place">
        <span className="mono ellipsis" title={placeOf(line)}>
          {fileName(line.file)}:{line.line}
        </span>
        {line.function !== undefined && line.function !== '' && (
          <span className="muted ellipsis">{line.function}</span>
        )}
        <span className="grow" />
        <Button
          label={words.wholeFile}
          icon={FileCode2}
          iconOnly
          small
          tone="quiet"
          pressed={whole}
          onClick={() => setWholeFile(!whole)}
        />
        <Button
          label={words.copyPathAndLine}
          icon={Copy}
          iconOnly
          small
          tone="quiet"
          onClick={() => void copyText(placeOf(line))}
        />
      </div>
      {whole ? (
        <Suspense fallback={<Lines line={line} onChoose={onChoose} />}>
          <FileLines line={line} onChoose={onChoose} />
        </Suspense>
      ) : (
        <Lines line={line} onChoose={onChoose} />
      )}
      <NodesOfLine line={line} selected={selected} />
    </div>
  );
}

interface FrameProps {
  line: SourceLine;
  chosen: boolean;
  onChoose: () => void;
}

function Frame({ line, chosen, onChoose }: FrameProps) {
  const library = line.user === false;
  return (
    <li>
      <button
        type="button"
        className={`frame${library ? ' frame-library' : ''}`}
        aria-pressed={chosen}
        title={words.showLine(placeOf(line))}
        onClick={onChoose}
      >
        <span className="mono ellipsis frame-text">
          {library ? (line.text ?? '').trim() : <Code text={line.text ?? ''} />}
        </span>
        <span className="frame-place mono ellipsis">
          {fileName(line.file)}:{line.line}
          {line.function !== undefined && line.function !== '' && ` ${line.function}`}
        </span>
      </button>
    </li>
  );
}

function Stack({ node, chosen, onChoose }: { node: NodeDetail; chosen: SourceLine | null; onChoose: (line: SourceLine) => void }) {
  const [all, setAll] = useState(false);
  const library = node.stack.filter((line) => line.user === false).length;
  const own = node.stack.length - library;
  const shown = all || own === 0 ? node.stack : node.stack.filter((line) => line.user !== false);
  return (
    <>
      <h3>
        {words.stack}
        {library > 0 && own > 0 && (
          <button type="button" className="link stack-all" onClick={() => setAll(!all)}>
            {all ? words.hideLibrary : words.showLibrary(counts.libraryFrames(library))}
          </button>
        )}
      </h3>
      <ol>
        {shown.map((line, i) => (
          // Frames are identified only by their position.
          // oxlint-disable-next-line react/no-array-index-key
          <Frame key={i} line={line} chosen={line === chosen} onChoose={() => onChoose(line)} />
        ))}
      </ol>
    </>
  );
}

function Attributes({ attributes }: { attributes: Record<string, unknown> }) {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <>
      <h3>{words.attributes}</h3>
      <dl className="facts">
        {entries.map(([key, value]) => (
          <div key={key} className="fact">
            <dt>{key}</dt>
            <dd className="mono ellipsis" title={String(value)}>
              {typeof value === 'string' ? value : JSON.stringify(value)}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

export function SourcePane({ node }: { node: NodeDetail }) {
  const [chosen, setChosen] = useState<{ node: string; line: SourceLine } | null>(null);
  // The choice applies to this node only; another node starts with its own line.
  const line = chosen?.node === node.name ? chosen.line : null;
  const shown = line ?? node.source ?? null;
  const choose = (next: SourceLine) => setChosen({ node: node.name, line: next });
  return (
    <section className="source" aria-label={words.source} tabIndex={0}>
      {node.kind === 'parameter' && (
        <Suspense>
          <ParameterFacts node={node} />
        </Suspense>
      )}
      <h3>{words.source}</h3>
      {shown === null ? (
        <p className="muted">{words.noSource(node.kind)}</p>
      ) : (
        <Card line={shown} selected={node.name} onChoose={choose} />
      )}
      {node.stack.length > 0 && (
        <Stack node={node} chosen={line} onChoose={choose} />
      )}
      <Attributes attributes={node.attributes} />
    </section>
  );
}
