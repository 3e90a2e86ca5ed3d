// The checks of conditions over a recorded run that this page has started.

import { create } from 'zustand';
import { api } from '../api/client';
import { Problem } from '../api/problem';
import type { CheckReport, WatchpointSpec } from '../api/types';
import * as words from '../words/run';
import { describe } from './describe';
import { patchRoute } from './router';
import { revealNode } from './scopes';
import { showToast } from './toasts';
import { touch } from './ui';

export interface RunCheck {
  id: string;
  spec: WatchpointSpec;
  // Null until the first report.
  report: CheckReport | null;
}

interface ChecksState {
  run: string | null;
  checks: readonly RunCheck[];
}

const POLL_MS = 300;

export const useChecks = create<ChecksState>(() => ({ run: null, checks: [] }));

export function openChecks(run: string): void {
  if (useChecks.getState().run !== run) useChecks.setState({ run, checks: [] });
}

function putReport(id: string, report: CheckReport): void {
  useChecks.setState(({ checks }) => ({
    checks: checks.map((check) => (check.id === id ? { ...check, report } : check)),
  }));
}

async function follow(run: string, id: string): Promise<void> {
  const isShown = () => {
    const now = useChecks.getState();
    return now.run === run && now.checks.some((check) => check.id === id);
  };
  while (isShown()) {
    // One report after the other.
    // oxlint-disable-next-line no-await-in-loop
    const report = await api.check(run, id);
    if (isShown()) putReport(id, report);
    if (report.state !== 'running') return;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

// Starts a check. Returns the server's problem with the condition, or null.
export async function startCheck(spec: WatchpointSpec): Promise<Problem | null> {
  const { run } = useChecks.getState();
  if (run === null) return null;
  try {
    const { check_id: id } = await api.startCheck(run, { watchpoint: spec });
    useChecks.setState(({ checks }) => ({ checks: [...checks, { id, spec, report: null }] }));
    follow(run, id).catch((error: unknown) =>
      showToast({ kind: 'error', title: words.checkFailed, detail: describe(error) }),
    );
    return null;
  } catch (error) {
    return error instanceof Problem ? error : new Problem(0, 'failed', words.checkFailed, describe(error));
  }
}

export async function removeCheck(id: string): Promise<void> {
  const { run } = useChecks.getState();
  if (run === null) return;
  useChecks.setState(({ checks }) => ({ checks: checks.filter((check) => check.id !== id) }));
  try {
    await api.endCheck(run, id);
  } catch (error) {
    showToast({ kind: 'error', title: words.checkNotRemoved, detail: describe(error) });
  }
}

export function goToTensor(place: { step: number; node: string; slot: number; rank: number }): void {
  touch();
  revealNode(place.node);
  patchRoute({ step: String(place.step), slot: String(place.slot), rank: place.rank });
}
