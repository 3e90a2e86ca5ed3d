import { X } from 'lucide-react';
import { useState } from 'react';
import { CurrentArrow, HitBadge, WatchDot } from '../widgets/node_marks';
import { current } from '../words/common';
import * as words from '../words/graph';

const KEY = 'graphdbg.legend';
// The legend would cover much of the graph in a narrower window.
const MIN_WINDOW_PX = 1400;

function isOpen(): boolean {
  try {
    const stored = localStorage.getItem(KEY);
    if (stored !== null) return stored === 'open';
  } catch {
    // Storage is blocked: use the default.
  }
  return window.innerWidth >= MIN_WINDOW_PX;
}

function storeOpen(open: boolean): void {
  try {
    localStorage.setItem(KEY, open ? 'open' : 'folded');
  } catch {
    // Storage is blocked: the choice is lost when the page is closed.
  }
}

// Explains the colours and shapes on the graph. `trail`: the graph marks where non-finite
// values started.
export function GraphLegend({ trail }: { trail: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const toggle = () => {
    setOpen(!open);
    storeOpen(!open);
  };
  if (!open) {
    return (
      <button type="button" className="legend legend-toggle" aria-expanded={false} onClick={toggle}>
        {words.legend}
      </button>
    );
  }
  return (
    <ul className="legend" aria-label={words.legend}>
      <li>
        <CurrentArrow /> {current}
      </li>
      <li>
        <HitBadge count={1} /> {trail ? words.legendOrigin : words.legendHits}
      </li>
      {trail && (
        <li>
          <span className="legend-propagated" aria-hidden /> {words.legendPropagated}
        </li>
      )}
      <li>
        <WatchDot watched="all" /> {words.legendWatched}
      </li>
      {words.legendCategories.map((category) => (
        <li key={category} className={`legend-swatch legend-${category}`}>
          {category}
        </li>
      ))}
      <li>
        <button type="button" className="legend-toggle" aria-label={words.hideLegend} aria-expanded onClick={toggle}>
          <X aria-hidden size={12} />
        </button>
      </li>
    </ul>
  );
}
