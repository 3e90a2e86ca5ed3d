// Keeps the address and the route in the store in sync.

import { create } from 'zustand';
import { isRun } from '../base/run_id';
import { formatRoute, parseRoute, type JobRoute, type Route } from './route';

interface RouterState {
  route: Route;
}

export const useRouter = create<RouterState>(() => ({
  route: parseRoute(window.location.hash),
}));

const rankOf = ({ route }: RouterState): number => (route.view === 'job' ? (route.route.rank ?? 0) : 0);

// The rank that the page shows; 0 outside of jobs.
export const selectedRank = (): number => rankOf(useRouter.getState());
export const useSelectedRank = (): number => useRouter(rankOf);

export function navigate(route: Route, how: 'push' | 'replace' = 'push'): void {
  const address = formatRoute(route);
  if (address !== window.location.hash) {
    if (how === 'push') window.history.pushState(null, '', address);
    else window.history.replaceState(null, '', address);
  }
  useRouter.setState({ route });
}

// Changes parts of a job's address. Has no effect in other views.
export function patchRoute(change: Partial<JobRoute>, how: 'push' | 'replace' = 'replace'): void {
  const { route } = useRouter.getState();
  if (route.view !== 'job') return;
  navigate({ view: 'job', route: { ...route.route, ...change } }, how);
}

// The parts of the address that belong to the selected tensor, for another one. A recorded run
// stays at the step that it shows.
export function ofNoTensor(): Pick<JobRoute, 'slot' | 'slice' | 'step'> {
  const { route } = useRouter.getState();
  const step = route.view === 'job' && isRun(route.route.job) ? route.route.step : null;
  return { slot: null, slice: null, step };
}

// Follows Back, Forward and typed addresses until the returned function is called.
export function followAddress(): () => void {
  const read = () => useRouter.setState({ route: parseRoute(window.location.hash) });
  window.addEventListener('hashchange', read);
  window.addEventListener('popstate', read);
  return () => {
    window.removeEventListener('hashchange', read);
    window.removeEventListener('popstate', read);
  };
}
