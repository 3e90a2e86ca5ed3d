// The health of ops, as the drawing sees it, and the colours of its scale. Boxes with text get light
// ones, so that it stays legible; blocks without text get the whole range.

import type { BoxHealth } from '../base/health';

// The health of boxes. `at` takes the name of a node, scope or aggregate; null if it is not known.
export interface HealthLookup {
  at(name: string): BoxHealth | null;
  // The same in words.
  text(name: string): string | null;
  // By the number of a node or scope in the graph's index.
  ofItem(item: number): BoxHealth;
}

export interface HealthColours {
  near: readonly string[];
  far: readonly string[];
  // NaN or infinity.
  bad: string;
  badFar: string;
}

type Rgb = readonly [number, number, number];

const LEVELS = 16;

function parse(colour: string): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  const parts = hex === null ? colour.split(/\s+/).map(Number) : hex.slice(1).map((part) => Number.parseInt(part, 16));
  return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0];
}

function mix(from: Rgb, to: Rgb, share: number): string {
  const part = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * share);
  return `rgb(${part(0)} ${part(1)} ${part(2)})`;
}

function ramp(from: Rgb, to: Rgb, least: number, most: number): string[] {
  return Array.from({ length: LEVELS }, (_, i) => mix(from, to, least + ((most - least) * i) / (LEVELS - 1)));
}

export function healthColours(box: string, heat: string, hit: string): HealthColours {
  const [ground, hot, bad] = [parse(box), parse(heat), parse(hit)];
  return {
    near: ramp(ground, hot, 0.04, 0.55),
    far: ramp(ground, hot, 0.12, 1),
    bad: mix(ground, bad, 0.3),
    badFar: mix(ground, bad, 1),
  };
}

// `share` is from 0 to 1.
export function levelOf(share: number): number {
  return Math.min(LEVELS - 1, Math.floor(share * LEVELS));
}

export const isBad = ({ nan, infinite }: { nan: number; infinite: number }): boolean => nan + infinite > 0;
