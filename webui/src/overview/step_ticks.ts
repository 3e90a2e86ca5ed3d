// The ticks of the axis of steps.

import { linearScale } from '../base/ticks';
import { placeOf, type Frame, type Span } from './span';
import { columnOf } from './steps';

export interface StepTick {
  step: number;
  x: number;
  // The middle of the label.
  label_x: number;
}

const TICK_PX = 90;
const CHARACTER_PX = 6.92;
const GAP_PX = 10;

// Evenly distant steps need not be so on the page, because steps without measurements have no column. Ticks
// whose label would overlap the one before are left out.
export function stepTicks(steps: readonly { step: number }[], span: Span, frame: Frame): StepTick[] {
  const first = steps[Math.max(0, Math.floor(span.from))]?.step ?? 0;
  const last = steps[Math.min(steps.length, Math.ceil(span.to)) - 1]?.step ?? first;
  const right = frame.left + frame.width;
  const { ticks } = linearScale(first, Math.max(first + 1, last), Math.max(2, Math.floor(frame.width / TICK_PX)));
  const shown: StepTick[] = [];
  let end = -Infinity;
  for (const step of ticks) {
    if (!Number.isInteger(step) || step < first || step > last) continue;
    const x = placeOf(columnOf(steps, step) + 0.5, span, frame);
    const half = (String(step).length * CHARACTER_PX) / 2;
    const label_x = Math.min(x, right - half);
    if (x < frame.left || x > right || label_x - half < end + GAP_PX) continue;
    shown.push({ step, x, label_x });
    end = label_x + half;
  }
  return shown;
}
