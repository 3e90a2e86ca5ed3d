// Panel sizes, which are stored across visits, and state of the page that is not in the address.

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
  bottom: { min: 140, max: 640, first: Math.max(330, Math.round(0.42 * window.innerHeight)) },
  watch: { min: 90, max: 520, first: 200 },
};

// The context menu of a node.
export interface NodeMenuState {
  node: string;
  kind: NodeKind;
  // Position on the page in pixels.
  x: number;
  y: number;
}

// The watchpoint form: for a new watchpoint on a node or scope, or to change or copy an existing one.
// While it is open, nodes can be selected in the tree.
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
  // A node, or a scope with everything in it.
  node: string | null;
  // Hides propagated hits.
  origins: boolean;
  // Shows the absorbed hits, and only them.
  absorbed: boolean;
}

export const NO_FILTER: HitFilter = { watchpoint: null, rank: null, step: null, node: null, origins: false, absorbed: false };

interface UiState {
  sizes: PanelSizes;
  // Time of the user's last action, in ms since navigation.
  touched_at: number;
  watch_form: WatchFormState | null;
  node_menu: NodeMenuState | null;
  // The node panel is maximized.
  tall: boolean;
  // The source pane shows the whole file, not only the lines around the node's.
  whole_file: boolean;
  // Id of the hit selected last.
  hit: number | null;
  hit_filter: HitFilter;
  // Hits are listed one by one, not by incident.
  all_hits: boolean;
  // The dialog shown above the page.
  overlay: 'palette' | 'keys' | 'change' | null;
  // The introduction is shown while no node is selected.
  welcome: boolean;
  // The user has left the neighbourhood, so that stops keep showing the whole graph.
  whole_graph: boolean;
  // Increases each time the user asks for the first value that is not finite.
  sought: number;
  // By tensor: the value shown in full colour, locked so that steps can be compared visually.
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
    // Storage is blocked or unreadable: use the default sizes.
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
  whole_file: false,
  hit: null,
  hit_filter: NO_FILTER,
  all_hits: false,
  overlay: null,
  welcome: !isWelcomeDismissed(),
  whole_graph: false,
  sought: 0,
  locked_scales: new Map(),
}));

export function resizePanel(panel: keyof PanelSizes, size: number): void {
  useUi.setState(({ sizes }) => ({ sizes: { ...sizes, [panel]: limitSize(panel, size) } }));
  try {
    localStorage.setItem(KEY, JSON.stringify(useUi.getState().sizes));
  } catch {
    // Storage is blocked: the sizes last for this visit only.
  }
}

export function touch(): void {
  useUi.setState({ touched_at: performance.now() });
}

// The tensor that is shown goes to its first value that is not finite.
export function seekSpecial(): void {
  useUi.setState(({ sought }) => ({ sought: sought + 1 }));
}

export function openWatchForm(target: string | null): void {
  useUi.setState({ watch_form: { target, ticked: null, from: null, edit: false } });
}

// The selection of a watchpoint, or null if it is not a list of nodes and scopes.
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

export function setWholeFile(whole_file: boolean): void {
  useUi.setState({ whole_file });
}

// Null unlocks the scale.
export function lockScale(tensor: string, scale: number | null): void {
  useUi.setState(({ locked_scales }) => {
    const next = new Map(locked_scales);
    if (scale === null) next.delete(tensor);
    else next.set(tensor, scale);
    return { locked_scales: next };
  });
}

const isFiltering = (filter: HitFilter) => Object.values(filter).some((value) => value !== null && value !== false);

// A filter applies to the list of all hits, which is then shown.
export function setHitFilter(change: Partial<HitFilter>): void {
  useUi.setState(({ hit_filter, all_hits }) => {
    const next = { ...hit_filter, ...change };
    return { hit_filter: next, all_hits: all_hits || isFiltering(next) };
  });
}

export function setAllHits(all_hits: boolean): void {
  useUi.setState({ all_hits, ...(all_hits ? {} : { hit_filter: NO_FILTER }) });
}

export function dismissWelcome(): void {
  useUi.setState({ welcome: false });
  try {
    localStorage.setItem(WELCOME_KEY, 'dismissed');
  } catch {
    // Storage is blocked: it stays hidden for this visit only.
  }
}

export function showOverlay(overlay: UiState['overlay']): void {
  useUi.setState({ overlay });
}
