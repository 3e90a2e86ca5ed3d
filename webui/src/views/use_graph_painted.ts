// Delays the panels around the graph, since the graph takes longest and users wait for it.

import { startTransition, useEffect, useState } from 'react';
import { firstGraph } from '../base/timing';

// The longest delay, since there may be no graph yet.
const WAIT_MS = 250;

// False until the graph of a new page has been painted.
export function useGraphPainted(): boolean {
  const [after, setAfter] = useState(false);
  useEffect(() => {
    let gone = false;
    const go = () => {
      if (!gone) startTransition(() => setAfter(true));
    };
    const timer = setTimeout(go, WAIT_MS);
    void firstGraph.painted.then(go);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return after;
}
