// Where in the user's program a node comes from, and its attributes.

import { Copy } from 'lucide-react';
import type { NodeDetail, SourceLine } from '../api/types';
import { fileName } from '../base/names';
import { copyText } from '../state/clipboard';
import { Button } from '../widgets/button';

function placeOf(line: SourceLine): string {
  return `${line.file}:${line.line}`;
}

function Frame({ line }: { line: SourceLine }) {
  return (
    <li className={`frame${line.user === false ? ' frame-library' : ''}`} title={placeOf(line)}>
      <span className="mono ellipsis frame-text">{line.text ?? ''}</span>
      <span className="frame-place mono ellipsis">
        {fileName(line.file)}:{line.line}
        {line.function !== undefined && line.function !== '' && ` ${line.function}`}
      </span>
    </li>
  );
}

function Attributes({ attributes }: { attributes: Record<string, unknown> }) {
  const entries = Object.entries(attributes);
  if (entries.length === 0) return null;
  return (
    <>
      <h3>Attributes</h3>
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
  const { source } = node;
  return (
    <section className="source" aria-label="Source" tabIndex={0}>
      <h3>Source</h3>
      {source === null || source === undefined ? (
        <p className="muted">No source line is known for this {node.kind}.</p>
      ) : (
        <div className="source-line">
          <div className="source-place">
            <span className="mono ellipsis" title={placeOf(source)}>
              {fileName(source.file)}:{source.line}
            </span>
            <span className="grow" />
            <Button
              label="Copy path and line"
              icon={Copy}
              iconOnly
              small
              tone="quiet"
              onClick={() => void copyText(placeOf(source))}
            />
          </div>
          {source.text ? <code className="source-text">{source.text.trim()}</code> : null}
        </div>
      )}
      {node.stack.length > 0 && (
        <>
          <h3>Stack</h3>
          <ol>
            {node.stack.map((line, i) => (
              // A stack's lines have no identity but their place.
              // oxlint-disable-next-line react/no-array-index-key
              <Frame key={i} line={line} />
            ))}
          </ol>
        </>
      )}
      <Attributes attributes={node.attributes} />
    </section>
  );
}
