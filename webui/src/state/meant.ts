// What the form for a watchpoint means in words, as far as the graph is known: the tree
// shows it by its tick boxes.

import { create } from 'zustand';
import { Watched, type Covered, type WatchSelection } from '../index/coverage';
import { askWorker, onWorker } from '../worker/client';
import { useScopes } from './scopes';

export const useMeant = create<{ meant: Covered | null }>(() => ({ meant: null }));

// One question at a time: a pattern is typed faster than a large graph is looked through.
let asked: WatchSelection | null = null;
let wanted: WatchSelection | null = null;

function ask(): void {
  asked = wanted;
  if (asked !== null) askWorker({ type: 'cover', selection: asked });
}

onWorker((message) => {
  if (message.type !== 'covered') return;
  if (asked !== wanted) return ask();
  asked = null;
  const { index } = useScopes.getState();
  const known = wanted !== null && index !== null;
  useMeant.setState({ meant: known ? { index, watched: new Watched(message.states) } : null });
});

// Null: nothing is said in words.
export function showMeant(selection: WatchSelection | null): void {
  wanted = selection;
  if (selection === null) useMeant.setState({ meant: null });
  if (asked === null) ask();
}
