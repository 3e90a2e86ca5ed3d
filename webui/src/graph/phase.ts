// Forward, backward and optimizer are told apart by the first part of a name, as
// adapters give it; null for what is none of them.

import type { Category } from '../api/types';

const PHASES: Record<string, Category> = {
  forward: 'activation',
  Default: 'activation',
  backward: 'gradient',
  Gradients: 'gradient',
  optimizer: 'optimizer',
};

export function phaseOf(name: string): Category | null {
  const cut = name.indexOf('/');
  return PHASES[cut < 0 ? name : name.slice(0, cut)] ?? null;
}
