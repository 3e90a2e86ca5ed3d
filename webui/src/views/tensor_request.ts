// The request that all views of a tensor share: tensor, rank, step, slice and pause.

import type { TensorSummary } from '../api/types';
import { defaultSlice, splitSlice } from '../base/slice';
import { isPaused } from '../state/job';
import { useJob } from '../state/job_store';
import { recordedStep, type ValueQuery } from '../state/queries';
import { useJobContext } from './job_context';
import { useStopVersion } from './use_stop_version';

export function useTensorRequest(tensor: TensorSummary): ValueQuery {
  const { id, route } = useJobContext();
  const version = useStopVersion();
  const rank = route?.rank ?? 0;
  const paused = useJob((state) => isPaused(state.model.info, rank));
  const now = useJob((state) => state.model.info?.step ?? 0);
  return {
    job: id,
    name: tensor.name,
    rank,
    step: recordedStep(id, now) ?? route?.step ?? null,
    ...splitSlice(route?.slice ?? defaultSlice(tensor.shape)),
    version,
    enabled: paused,
  };
}
