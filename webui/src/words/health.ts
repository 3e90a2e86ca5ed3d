// Texts about the health of ops: the colours of the graph and the timeline.

import * as counts from './counts';

export const colourBy = 'Colour by';
export const nothing = 'nothing';
export const metrics = {
  non_finite: 'NaN/Inf',
  abs_mean: 'mean |x|',
  abs_max: 'max |x|',
  zeros: 'zeros',
  l2: 'L2 norm',
  hits: 'hits',
} as const;
export const loading = 'measuring…';
export const notFinite = 'NaN/Inf';
export const noValues = 'No values of this step.';
export const measured = (ops: number, step: number) => `${counts.ops(ops)} of step ${step}`;
export const incomplete = 'incomplete';
export const whyIncomplete =
  'Some tensors could not be measured in time, or only those that were watched or inspected are known.';
export const hiddenOps = 'A closed scope shows its worst op.';
export const valueOf = (metric: string, value: string) => `${metric} ${value}`;
export const nan = (count: string) => `${count} NaN`;
export const infinite = (count: string) => `${count} ±Inf`;
export const share = (percent: string) => `${percent} %`;

// Timeline.
export const timeline = 'Timeline';
export const showTimeline = 'Show ops in order of execution';
export const hideTimeline = 'Hide ops in order of execution';
export const timelineKeys =
  'Left and right arrows go to the previous and next op, with Shift to one with NaN, Inf or hits; Page Up and Page Down go further. Enter opens the scopes around the op.';
export const place = (place: string, all: string, name: string) => `${place} of ${all}: ${name}`;
export const noExecution = 'No op has executed yet.';
