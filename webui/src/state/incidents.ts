// The incidents of the job that the page shows: hits that have one cause.

import { create } from 'zustand';
import { api } from '../api/client';
import type { EvidenceLink, Hit, Incident } from '../api/types';
import { isRun } from '../base/run_id';
import { goToHit, originOfStop } from './hits';
import type { JobModel } from './job';
import { useJob } from './job_store';
import { patchRoute } from './router';
import { revealNode } from './scopes';
import { seekSpecial, touch, useUi } from './ui';

// Later ones are only counted.
const MAX_INCIDENTS = 200;

interface IncidentsStore {
  job: string | null;
  // Null until they are loaded, and if the server cannot group hits.
  incidents: readonly Incident[] | null;
  total: number;
  // Nodes whose incidents are hidden.
  muted: ReadonlySet<string>;
}

const NONE: IncidentsStore = { job: null, incidents: null, total: 0, muted: new Set() };

export const useIncidents = create<IncidentsStore>(() => NONE);

export async function loadIncidents(job: string | null): Promise<void> {
  if (useIncidents.getState().job !== job) useIncidents.setState({ ...NONE, job });
  if (job === null) return;
  try {
    const { incidents, total } = await api.incidents(job, MAX_INCIDENTS);
    if (useIncidents.getState().job === job) useIncidents.setState({ incidents, total });
  } catch {
    // The list of all hits is shown; the next hit loads again.
  }
}

export function hideNode(node: string): void {
  useIncidents.setState(({ muted }) => ({ muted: new Set([...muted, node]) }));
}

export function showHidden(): void {
  useIncidents.setState({ muted: new Set() });
}

export function shownIncidents({ incidents, muted }: Pick<IncidentsStore, 'incidents' | 'muted'>): Incident[] {
  return (incidents ?? []).filter(({ origin }) => !muted.has(origin.node));
}

function isIn({ steps }: Incident, step: number): boolean {
  return steps.some(({ first, last }) => first <= step && step <= last);
}

// The incident that a hit belongs to, as far as that follows from where and when it was.
export function incidentOf(hit: Hit, incidents: readonly Incident[]): Incident | null {
  const own = incidents.find(({ origin }) => origin.node === hit.node);
  const spreads = (incident: Incident) =>
    incident.reached_count > 0 && isIn(incident, hit.step) && incident.ranks.includes(hit.rank);
  return own ?? incidents.findLast(spreads) ?? null;
}

// The incident that has paused the job, or null.
export function incidentOfStop(
  model: Pick<JobModel, 'info' | 'hits'>,
  incidents: readonly Incident[] | null,
): Incident | null {
  const hit = originOfStop(model);
  return hit === null ? null : incidentOf(hit, incidents ?? []);
}

// Selects the origin of the next or previous incident.
export function goToNextIncident(by: 1 | -1): boolean {
  const incidents = shownIncidents(useIncidents.getState());
  const { hit } = useUi.getState();
  const at = incidents.findIndex(({ id }) => id === hit);
  // Beyond the last one, back to it, from wherever the user has gone.
  const next = at < 0 ? incidents.at(by > 0 ? 0 : -1) : (incidents[at + by] ?? incidents[at]);
  if (next !== undefined) goToHit(next.origin);
  return incidents.length > 0;
}

const PANELS = { cells: null, values: null, history: 'history', node: null };

// Shows what a sentence about a cause refers to.
export function followEvidence({ view, node, slot, step, rank }: EvidenceLink): void {
  touch();
  revealNode(node);
  const recorded = isRun(useJob.getState().id ?? '') ? { step: String(step) } : {};
  const whole = view === 'cells' ? { slice: null } : {};
  patchRoute({ slot: String(slot), rank, panel: PANELS[view], ...whole, ...recorded });
  if (view === 'cells') seekSpecial();
}
