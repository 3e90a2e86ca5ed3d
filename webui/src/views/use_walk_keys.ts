// Shortcuts that move the selection from node to node, wherever the focus is: [ and ] go to
// the producer and the consumer, dot and comma follow the order of execution.

import { useEffect } from 'react';
import { useNode } from '../state/queries';
import { revealNode, useScopes } from '../state/scopes';
import { touch } from '../state/ui';
import { alongTensors, executedNear } from '../state/walk';
import { useJobContext } from './job_context';

export function useWalkKeys(): void {
  const { id, route, current } = useJobContext();
  const selected = route?.node ?? null;
  const detail = useNode(id, selected).data;
  const index = useScopes((state) => state.index);
  useEffect(() => {
    const from = selected ?? current;
    const next = (key: string): string | null => {
      switch (key) {
        case '[':
          return detail === undefined ? null : alongTensors(detail, 'producer');
        case ']':
          return detail === undefined ? null : alongTensors(detail, 'consumer');
        case '.':
          return from === null ? null : executedNear(index, from, 1);
        case ',':
          return from === null ? null : executedNear(index, from, -1);
        default:
          return null;
      }
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if ((event.target as HTMLElement).closest('input, select, textarea, [role=dialog]')) return;
      const name = next(event.key);
      if (name === null) return;
      event.preventDefault();
      touch();
      revealNode(name);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [selected, current, detail, index]);
}
