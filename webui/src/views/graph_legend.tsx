import { X } from 'lucide-react';
import { useState } from 'react';
import { CurrentArrow, HitBadge, WatchDot } from '../widgets/node_marks';

const KEY = 'graphdbg.legend';
// In a narrower window it would cover much of the graph.
const ROOMY_PX = 1400;

function isOpen(): boolean {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept !== null) return kept === 'open';
  } catch {
    // Storage is blocked: as for a first visit.
  }
  return window.innerWidth >= ROOMY_PX;
}

function keepOpen(open: boolean): void {
  try {
    localStorage.setItem(KEY, open ? 'open' : 'folded');
  } catch {
    // Storage is blocked: it lasts as long as the page.
  }
}

// What the colours and shapes on the graph mean.
// `trail`: something is not finite, and it is known where that began.
export function GraphLegend({ trail }: { trail: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const toggle = () => {
    setOpen(!open);
    keepOpen(!open);
  };
  if (!open) {
    return (
      <button type="button" className="legend legend-toggle" aria-expanded={false} onClick={toggle}>
        Legend
      </button>
    );
  }
  return (
    <ul className="legend" aria-label="Legend">
      <li>
        <CurrentArrow /> current
      </li>
      <li>
        <HitBadge count={1} /> {trail ? 'hits, origin' : 'hits'}
      </li>
      {trail && (
        <li>
          <span className="legend-propagated" aria-hidden /> propagated
        </li>
      )}
      <li>
        <WatchDot watched="all" /> watched
      </li>
      <li className="legend-swatch legend-activation">activation</li>
      <li className="legend-swatch legend-gradient">gradient</li>
      <li className="legend-swatch legend-optimizer">optimizer</li>
      <li className="legend-swatch legend-weight">weight</li>
      <li>
        <button type="button" className="legend-toggle" aria-label="Fold the legend" aria-expanded onClick={toggle}>
          <X aria-hidden size={12} />
        </button>
      </li>
    </ul>
  );
}
