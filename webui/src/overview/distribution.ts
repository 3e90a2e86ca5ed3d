// The scale of a distribution over steps: linear around zero and logarithmic further out, so that
// both the middle and the outliers can be seen.

import { extent, type Place } from './curves';

export interface DistributionScale {
  // From 0 (top) to 1 (bottom).
  place: Place;
  ticks: number[];
}

type Column = ReadonlyArray<number | null>;

// How wide most of the values are, in the median step.
function usualWidth(low: Column, high: Column): number {
  const widths = low.flatMap((from, i) => {
    const to = high[i];
    return from === null || to === null || to === undefined || to <= from ? [] : [to - from];
  });
  widths.sort((a, b) => a - b);
  return widths[widths.length >> 1] ?? 0;
}

// Null if there are no values. `low` and `high` are the ends of most of the values.
export function distributionScale(min: Column, max: Column, low: Column, high: Column): DistributionScale | null {
  const [least, greatest] = [extent(min) ?? extent(low), extent(max) ?? extent(high)];
  if (least === null || greatest === null) return null;
  const [bottom, top] = [least[0], greatest[1]];
  const unit = usualWidth(low, high) / 2 || Math.max(Math.abs(bottom), Math.abs(top)) || 1;
  const bend = (value: number) => Math.asinh(value / unit);
  const room = (bend(top) - bend(bottom) || 1) * 0.04;
  const [from, to] = [bend(bottom) - room, bend(top) + room];
  const place: Place = (value) => 1 - (bend(value) - from) / (to - from);
  return { place, ticks: ticksBetween(bottom, top, unit, place) };
}

// The smallest share of the height between two ticks.
const APART = 0.15;

// Zero and powers of ten, the largest ones first, as far as there is room.
function ticksBetween(bottom: number, top: number, unit: number, place: Place): number[] {
  const ticks = bottom <= 0 && top >= 0 ? [0] : [];
  const hasRoom = (tick: number) => ticks.every((other) => Math.abs(place(other) - place(tick)) >= APART);
  const highest = Math.floor(Math.log10(Math.max(Math.abs(bottom), Math.abs(top)) || 1) + 1e-9);
  const lowest = Math.floor(Math.log10(unit));
  for (let power = highest; power >= lowest; power -= 1) {
    for (const tick of [10 ** power, -(10 ** power)]) if (tick >= bottom && tick <= top && hasRoom(tick)) ticks.push(tick);
  }
  return ticks.sort((a, b) => a - b);
}
