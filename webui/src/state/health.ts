// The statistic that colours the graph, and what is shown of it. Filled by views/graph_health.tsx,
// which is loaded later than the graph.

import { create } from 'zustand';
import type { HealthLookup } from '../graph/health_colours';
import type { Metric } from '../index/health';

interface HealthState {
  // Null: the graph has its usual colours.
  metric: Metric | null;
  // The ops in the order of execution, below the graph.
  timeline: boolean;
  shown: HealthLookup | null;
}

export const useHealth = create<HealthState>(() => ({ metric: null, timeline: false, shown: null }));

export function colourBy(metric: Metric | null): void {
  useHealth.setState({ metric });
}

export function showTimeline(timeline: boolean): void {
  useHealth.setState({ timeline });
}

export function setShownHealth(shown: HealthLookup | null): void {
  useHealth.setState({ shown });
}
