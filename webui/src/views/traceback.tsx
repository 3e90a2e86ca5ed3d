// A Python traceback: its frames, and the source of the chosen one with the ops of each line.

import { lazy, Suspense, useMemo, useState } from 'react';
import type { SourceLine } from '../api/types';
import { fileName } from '../base/names';
import { partsOfTraceback, type TracebackFrame } from '../base/traceback';
import { searchLine } from '../state/search_text';
import { Button } from '../widgets/button';
import * as counts from '../words/counts';
import * as words from '../words/job';
import { hideLibrary, showLibrary } from '../words/node';
import './traceback.css';

const FileLines = lazy(async () => ({ default: (await import('./file_lines')).FileLines }));

function Frame({ frame, chosen, onChoose }: { frame: TracebackFrame; chosen: boolean; onChoose: () => void }) {
  return (
    <button
      type="button"
      className={`traceback-frame${frame.library ? ' muted' : ''}`}
      aria-label={`File "${frame.file}", line ${frame.line}`}
      aria-pressed={chosen}
      title={`${frame.file}:${frame.line}`}
      onClick={onChoose}
    >
      <span className="ellipsis">
        {fileName(frame.file)}:{frame.line} <span className="muted">{frame.function}</span>
      </span>
      <code className="ellipsis">{frame.code}</code>
    </button>
  );
}

// The lines of the file that are known from stacks, and the frame's own.
function Source({ frame, known }: { frame: TracebackFrame; known: readonly TracebackFrame[] }) {
  const line = useMemo((): SourceLine => ({ file: frame.file, line: frame.line, text: frame.code }), [frame]);
  const others = useMemo(() => {
    const own = known.filter(({ file, code }) => file === frame.file && code !== '');
    return new Map(own.map((other) => [other.line, other.code]));
  }, [frame, known]);
  return (
    <div className="traceback-source">
      <p className="traceback-place">
        <span className="mono ellipsis" title={frame.file}>
          {frame.file}
        </span>
        <Button label={words.showNodesOfLine} small onClick={() => searchLine(frame.file, String(frame.line))} />
      </p>
      <Suspense fallback={null}>
        <FileLines line={line} also={others} onChoose={(other) => searchLine(other.file, String(other.line))} />
      </Suspense>
    </div>
  );
}

export function Traceback({ text }: { text: string }) {
  const parts = useMemo(() => partsOfTraceback(text), [text]);
  const frames = useMemo(() => parts.flatMap((part) => (part.kind === 'frame' ? [part.frame] : [])), [parts]);
  const own = frames.filter(({ library }) => !library);
  const [all, setAll] = useState(false);
  const [chosen, setChosen] = useState<TracebackFrame | null>(null);
  const shown = chosen ?? own.at(-1) ?? frames.at(-1);
  const folds = own.length > 0 && own.length < frames.length;
  return (
    <div className="traceback" role="region" aria-label={words.traceback} tabIndex={0}>
      <div className="traceback-frames mono">
        {folds && (
          <button type="button" className="link" onClick={() => setAll(!all)}>
            {all ? hideLibrary : showLibrary(counts.libraryFrames(frames.length - own.length))}
          </button>
        )}
        {parts.map((part, i) => {
          // Parts are identified only by their position.
          if (part.kind === 'text') {
            // oxlint-disable-next-line react/no-array-index-key
            return <p key={i}>{part.text}</p>;
          }
          const { frame } = part;
          if (folds && !all && frame.library) return null;
          // oxlint-disable-next-line react/no-array-index-key
          return <Frame key={i} frame={frame} chosen={frame === shown} onChoose={() => setChosen(frame)} />;
        })}
      </div>
      {shown !== undefined && <Source frame={shown} known={frames} />}
    </div>
  );
}
