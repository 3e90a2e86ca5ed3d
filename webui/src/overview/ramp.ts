// The colours of the levels.

import { FIRST_LEVEL, LAST_LEVEL, NOT_FINITE, NOT_MEASURED } from './matrix';

export type Rgb = readonly [number, number, number];

// The layout of ImageData on little-endian machines, the only ones that browsers run on.
export function pack([r, g, b]: Rgb): number {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

// Parses "#12161c".
export function parseRgb(text: string): Rgb {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16) || 0);
  return [r, g, b];
}

// A colour between those of the ramp; `share` is from 0 to 1.
export function between(ramp: readonly Rgb[], share: number): Rgb {
  const place = share * (ramp.length - 1);
  const at = Math.min(Math.floor(place), ramp.length - 2);
  const mix = (channel: 0 | 1 | 2) => {
    const [from, to] = [(ramp[at] as Rgb)[channel], (ramp[at + 1] as Rgb)[channel]];
    return Math.round(from + (to - from) * (place - at));
  };
  return [mix(0), mix(1), mix(2)];
}

// One packed pixel per level.
export function coloursOf(ramp: readonly Rgb[], nothing: Rgb, bad: Rgb): Uint32Array {
  const colours = new Uint32Array(NOT_FINITE + 1);
  colours[NOT_MEASURED] = pack(nothing);
  colours[NOT_FINITE] = pack(bad);
  for (let level = FIRST_LEVEL; level <= LAST_LEVEL; level += 1) {
    colours[level] = pack(between(ramp, (level - FIRST_LEVEL) / (LAST_LEVEL - FIRST_LEVEL)));
  }
  return colours;
}
