// Preview of the nodes that the watchpoint form would cover. The page computes it from the graph
// index, and the tree shows it with check boxes.

import { create } from 'zustand';
import { lazy } from '../base/lazy';
import { Watched, type Covered, type WatchSelection } from '../index/coverage';
import { graphWorker } from '../worker/client';
import { useScopes } from './scopes';

export const useSelectionPreview = create<{ covered: Covered | null }>(() => ({ covered: null }));

// Has one request in flight at a time: a pattern is typed faster than a large graph is searched.
class SelectionPreview {
  private requested: WatchSelection | null = null;
  private wanted: WatchSelection | null = null;

  // Not in the constructor: the first subscriber gets the messages that came before it, and
  // those are for the graph loader.
  private readonly subscribe = lazy(() =>
    graphWorker.subscribe((message) => {
      if (message.type === 'covered') this.receive(message.states);
    }),
  );

  // Null ends the preview.
  show(selection: WatchSelection | null): void {
    this.subscribe();
    this.wanted = selection;
    if (selection === null) useSelectionPreview.setState({ covered: null });
    if (this.requested === null) this.request();
  }

  private request(): void {
    this.requested = this.wanted;
    if (this.requested !== null) graphWorker.post({ type: 'cover', selection: this.requested });
  }

  private receive(states: Uint8Array): void {
    if (this.requested !== this.wanted) {
      this.request();
      return;
    }
    this.requested = null;
    const { index } = useScopes.getState();
    const known = this.wanted !== null && index !== null;
    useSelectionPreview.setState({ covered: known ? { index, watched: new Watched(states) } : null });
  }
}

const preview = new SelectionPreview();

export function previewSelection(selection: WatchSelection | null): void {
  preview.show(selection);
}
