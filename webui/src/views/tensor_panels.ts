// The panels for a tensor: their tabs and commands, and their names in the page's address.

import { ChartColumn, ChartLine, Columns3, Grid2x2, Lightbulb, Rows3, Table2 } from 'lucide-react';
import type { Tab } from '../widgets/tabs';
import { viewCommands, views } from '../words/tensor';

export type PanelName = keyof typeof views;

const ICONS = { values: Table2, heat: Grid2x2, histogram: ChartColumn, history: ChartLine, compare: Columns3, ranks: Rows3, advice: Lightbulb };

// In the order of the tabs, which is that of `views`.
export const PANELS = (Object.keys(views) as PanelName[]).map((id): Tab<PanelName> & { command: string } => ({
  id,
  icon: ICONS[id],
  label: views[id],
  command: viewCommands[id],
}));

// Those of a job with so many ranks.
export const panelsFor = (ranks: number) => (ranks > 1 ? PANELS : PANELS.filter(({ id }) => id !== 'ranks'));

export function panelOf(name: string | null | undefined): PanelName {
  return PANELS.find((panel) => panel.id === name)?.id ?? 'values';
}

// The panel's name in the address. The first panel is the default and has none.
export function panelInAddress(id: PanelName): string | null {
  return id === 'values' ? null : id;
}
