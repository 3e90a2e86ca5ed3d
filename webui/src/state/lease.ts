// The control of a job, which belongs to one user at a time: taking it over and giving it back.

import { api } from '../api/client';
import { Problem } from '../api/problem';
import type { Controller } from '../api/types';
import * as words from '../words/access';
import { describe } from './describe';
import { showToast } from './toasts';

async function succeeds(request: Promise<void>, failed: string): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    showToast({ kind: 'error', title: failed, detail: describe(error) });
    return false;
  }
}

export function takeOver(job: string): Promise<boolean> {
  return succeeds(api.takeLease(job), words.takeOverFailed);
}

export function giveBack(job: string): Promise<boolean> {
  return succeeds(api.releaseLease(job), words.giveBackFailed);
}

interface Refused {
  job: string;
  controller: Controller | null | undefined;
  error: unknown;
  // The operation that was not performed.
  detail: string;
  // Sends the request again.
  again: () => void;
}

// If the request was refused because another user controls the job, shows that and offers to take over
// the control and to send the request again. Returns false for any other error.
export function offerTakeOver({ job, controller, error, detail, again }: Refused): boolean {
  if (!(error instanceof Problem) || error.code !== 'not_controller') return false;
  const run = () => void takeOver(job).then((taken) => taken && again());
  const title = words.controls(controller?.name ?? words.somebodyElse);
  showToast({ kind: 'error', title, detail, action: { label: words.takeOver, run } });
  return true;
}
