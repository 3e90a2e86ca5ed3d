// The marks of a node in lists, in the same shapes as in the graph.

import { compactCount } from '../base/format';
import * as words from '../words/common';
import * as counts from '../words/counts';
import './node_marks.css';

export interface NodeMarkProps {
  hits: number;
  watched: 'all' | 'some' | 'none';
  current: boolean;
  // Watched only as part of a watched scope.
  implied?: boolean;
}

export function HitBadge({ count }: { count: number }) {
  return (
    <span
      className="hit-badge"
      role="img"
      aria-label={counts.hits(count)}
      data-count={compactCount(count)}
    />
  );
}

export function WatchDot({ watched, faint = false }: { watched: 'all' | 'some'; faint?: boolean }) {
  return (
    <span
      className={`watch-dot watch-${watched}${faint ? ' watch-faint' : ''}`}
      role="img"
      aria-label={words.watched[watched]}
    />
  );
}

export function CurrentArrow() {
  return <span className="current-arrow" role="img" aria-label={words.current} />;
}

export function NodeMarks({ hits, watched, current, implied = false }: NodeMarkProps) {
  return (
    <span className="node-marks">
      {current && <CurrentArrow />}
      {watched !== 'none' && <WatchDot watched={watched} faint={implied} />}
      {hits > 0 && <HitBadge count={hits} />}
    </span>
  );
}
