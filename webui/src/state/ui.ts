// Sizes of panels, kept over visits, and small states that no address holds.

import { create } from 'zustand';
import type { NodeKind, Watchpoint } from '../api/types';
import type { Ticked } from './ticks';

export interface PanelSizes {
  left: number;
  right: number;
  bottom: number;
  watch: number;
}

export const PANEL_LIMITS: Record<keyof PanelSizes, { min: number; max: number; first: number }> = {
  left: { min: 180, max: 560, first: 264 },
  right: { min: 240, max: 640, first: 328 },
  bottom: { min: 140, max: 640, first: 330 },
  watch: { min: 90, max: 520, first: 200 },
};

// What can be done with a node, shown where it was asked for.
export interface NodeMenuState {
  node: string;
  kind: NodeKind;
  // On the page, in pixels.
  x: number;
  y: number;
}

// The form for a watchpoint: a new one on a node or scope, or one that is changed, or
// copied. While it is open, nodes can be ticked in the tree.
export interface WatchFormState {
  target: string | null;
  ticked: Ticked | null;
  from: Watchpoint | null;
  edit: boolean;
}

export interface HitFilter {
  watchpoint: number | null;
  rank: number | null;
  step: number | null;
  // A node, or a scope and all in it.
  node: string | null;
  // Without those that only pass on what came in.
  origins: boolean;
}

export const NO_FILTER: HitFilter = { watchpoint: null, rank: null, step: null, node: null, origins: false };

interface UiState {
  sizes: PanelSizes;
  // When the user last chose or moved something, in ms since navigation.
  touched_at: number;
  watch_form: WatchFormState | null;
  node_menu: NodeMenuState | null;
  // The node panel has all the room.
  tall: boolean;
  // The hit that was gone to last.
  hit: number | null;
  hit_filter: HitFilter;
  // What lies over the page.
  overlay: 'palette' | 'keys' | null;
  // How to begin is said where nothing is selected.
  welcome: boolean;
  // Full colour of a tensor's values, held so that steps can be compared by eye.
  locked_scales: ReadonlyMap<string, number>;
}

const KEY = 'graphdbg.panels';

const WELCOME_KEY = 'graphdbg.welcome';

function isWelcomeDismissed(): boolean {
  try {
    return localStorage.getItem(WELCOME_KEY) !== null;
  } catch {
    return false;
  }
}

function readSizes(): PanelSizes {
  const sizes = {} as PanelSizes;
  let kept: Partial<Record<string, unknown>> = {};
  try {
    kept = (JSON.parse(localStorage.getItem(KEY) ?? '{}') ?? {}) as typeof kept;
  } catch {
    // Unreadable or blocked: the first sizes do.
  }
  for (const panel of Object.keys(PANEL_LIMITS) as Array<keyof PanelSizes>) {
    const value = kept[panel];
    sizes[panel] = limitSize(panel, typeof value === 'number' ? value : PANEL_LIMITS[panel].first);
  }
  return sizes;
}

export function limitSize(panel: keyof PanelSizes, size: number): number {
  const { min, max } = PANEL_LIMITS[panel];
  return Math.round(Math.min(max, Math.max(min, size)));
}

export const useUi = create<UiState>(() => ({
  sizes: readSizes(),
  touched_at: -Infinity,
  watch_form: null,
  node_menu: null,
  tall: false,
  hit: null,
  hit_filter: NO_FILTER,
  overlay: null,
  welcome: !isWelcomeDismissed(),
  locked_scales: new Map(),
}));

export function resizePanel(panel: keyof PanelSizes, size: number): void {
  useUi.setState(({ sizes }) => ({ sizes: { ...sizes, [panel]: limitSize(panel, size) } }));
  try {
    localStorage.setItem(KEY, JSON.stringify(useUi.getState().sizes));
  } catch {
    // Kept for this visit only.
  }
}

export function touch(): void {
  useUi.setState({ touched_at: performance.now() });
}

export function openWatchForm(target: string | null): void {
  useUi.setState({ watch_form: { target, ticked: null, from: null, edit: false } });
}

// What it is on, as far as ticks can tell.
function tickedOf({ nodes, scopes, patterns, categories }: Watchpoint): Ticked | null {
  const isList = nodes.length + scopes.length > 0 && patterns.length + categories.length === 0;
  return isList ? { nodes, scopes } : null;
}

export function editWatchpoint(from: Watchpoint): void {
  useUi.setState({ watch_form: { target: null, ticked: tickedOf(from), from, edit: true } });
}

export function copyWatchpoint(from: Watchpoint): void {
  useUi.setState({ watch_form: { target: null, ticked: tickedOf(from), from, edit: false } });
}

export function setTicked(ticked: Ticked): void {
  useUi.setState(({ watch_form }) => ({ watch_form: watch_form && { ...watch_form, ticked } }));
}

export function closeWatchForm(): void {
  useUi.setState({ watch_form: null });
}

export function openNodeMenu(menu: NodeMenuState): void {
  useUi.setState({ node_menu: menu });
}

export function closeNodeMenu(): void {
  useUi.setState({ node_menu: null });
}

export function setTall(tall: boolean): void {
  useUi.setState({ tall });
}

// Null lets it go.
export function lockScale(tensor: string, scale: number | null): void {
  useUi.setState(({ locked_scales }) => {
    const next = new Map(locked_scales);
    if (scale === null) next.delete(tensor);
    else next.set(tensor, scale);
    return { locked_scales: next };
  });
}

export function setHitFilter(change: Partial<HitFilter>): void {
  useUi.setState(({ hit_filter }) => ({ hit_filter: { ...hit_filter, ...change } }));
}

export function dismissWelcome(): void {
  useUi.setState({ welcome: false });
  try {
    localStorage.setItem(WELCOME_KEY, 'dismissed');
  } catch {
    // Put away for this visit only.
  }
}

export function showOverlay(overlay: UiState['overlay']): void {
  useUi.setState({ overlay });
}
