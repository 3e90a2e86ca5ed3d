// Whether the page shows a model that is not run: an opened file, or a recorded run that has a graph and
// no steps, as which the server presents a graph file of MindSpore.

import { isRun } from '../base/run_id';
import { isOpenedModel } from '../state/job';
import { useJob } from '../state/job_store';
import { useRun } from '../state/run_store';

export function useOpened(): boolean {
  const model = useJob(({ id, model: { info } }) => !isRun(id ?? '') && info !== null && isOpenedModel(info));
  const run = useJob(({ id }) => isRun(id ?? ''));
  const graphOnly = useRun(({ run: shown, steps }) => shown?.framework === 'mindspore' && shown.last_step === 0 && steps.length === 0);
  return model || (run && graphOnly);
}
