// Shortcuts of the graph that work wherever the focus is: [ and ] go to the producer and the
// consumer, dot and comma follow the order of execution, and A shows the neighbourhood.

import { useEffect } from 'react';
import { isTextField } from '../base/typing';
import { useNode } from '../state/queries';
import { revealNode, showAround, useScopes } from '../state/scopes';
import { touch } from '../state/ui';
import { alongTensors, executedNear } from '../state/walk';
import { useJobContext } from './job_context';

export function useWalkKeys(): void {
  const { id, route, current } = useJobContext();
  const selected = route?.node ?? null;
  const around = route?.around ?? null;
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
      if (isTextField(event.target) || (event.target as HTMLElement).closest('select, dialog, [role=dialog]')) return;
      if (event.key.toLowerCase() === 'a' && selected !== null) {
        event.preventDefault();
        showAround(around === null ? 1 : null);
        return;
      }
      const name = next(event.key);
      if (name === null) return;
      event.preventDefault();
      touch();
      revealNode(name);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [selected, around, current, detail, index]);
}
