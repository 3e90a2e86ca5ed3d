// The overview in the page's address: what it shows, while it takes the place of the graph.

import { beginMeasure } from '../base/timing';
import { MEASURES, type Measure } from '../overview/measures';
import { patchRoute, useRouter } from './router';

function inAddress(): string | null {
  const { route } = useRouter.getState();
  return route.view === 'job' ? route.route.overview : null;
}

// What the overview showed last.
let last: Measure = 'activation';

export function useOverviewMeasure(): Measure {
  const name = useRouter(({ route }) => (route.view === 'job' ? route.route.overview : null));
  return MEASURES.find((measure) => measure === name) ?? 'activation';
}

export function chooseMeasure(measure: Measure): void {
  beginMeasure('graphdbg:overview');
  last = measure;
  patchRoute({ overview: measure });
}

export function showOverview(shown: boolean): void {
  if (shown) beginMeasure('graphdbg:overview');
  // The graphs of a comparison would cover it.
  patchRoute(shown ? { overview: last, beside: false } : { overview: null }, 'push');
}

export function toggleOverview(): void {
  showOverview(inAddress() === null);
}
