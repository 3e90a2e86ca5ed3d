// The phases forward, backward and optimizer.

import type { Category } from '../api/types';

const PHASES: Record<string, Category> = {
  forward: 'activation',
  Default: 'activation',
  backward: 'gradient',
  Gradients: 'gradient',
  optimizer: 'optimizer',
};

// Returns the category of a node's phase by the first segment of its name, which adapters choose, or
// null if it belongs to no phase.
export function phaseOf(name: string): Category | null {
  const cut = name.indexOf('/');
  return PHASES[cut < 0 ? name : name.slice(0, cut)] ?? null;
}
