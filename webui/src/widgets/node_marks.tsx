// The marks of a node in lists, in the shapes that the graph uses.

import { compactCount, plural } from '../base/format';
import './node_marks.css';

export interface NodeMarkProps {
  hits: number;
  watched: 'all' | 'some' | 'none';
  current: boolean;
  // Watched only because the scope around it is.
  implied?: boolean;
}

export function HitBadge({ count }: { count: number }) {
  return (
    <span
      className="hit-badge"
      role="img"
      aria-label={plural(count, 'hit')}
      data-count={compactCount(count)}
    />
  );
}

export function WatchDot({ watched, faint = false }: { watched: 'all' | 'some'; faint?: boolean }) {
  return (
    <span
      className={`watch-dot watch-${watched}${faint ? ' watch-faint' : ''}`}
      role="img"
      aria-label={watched === 'all' ? 'watched' : 'partly watched'}
    />
  );
}

export function CurrentArrow() {
  return <span className="current-arrow" role="img" aria-label="current" />;
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
