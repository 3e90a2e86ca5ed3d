// Colours of the canvas: the style sheet's tokens, read once per colour scheme.

import type { Category } from '../api/types';
import { healthColours, type HealthColours } from './health_colours';
import type { FarColours } from './overview';

export interface Palette {
  canvas: string;
  box: string;
  boxBorder: string;
  scope: string;
  scopeInner: string[];
  scopeBorder: string;
  text: string;
  muted: string;
  edge: string;
  edgeStrong: string;
  select: string;
  current: string;
  onCurrent: string;
  hit: string;
  onHit: string;
  watch: string;
  category: Record<Category, string>;
  health: HealthColours;
  fontMono: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    canvas: token('canvas'),
    box: token('box'),
    boxBorder: token('box-border'),
    scope: token('scope'),
    scopeInner: [token('scope-1'), token('scope-2'), token('scope-3')],
    scopeBorder: token('scope-border'),
    text: token('text'),
    muted: token('text-3'),
    edge: token('edge'),
    edgeStrong: token('edge-strong'),
    select: token('select'),
    current: token('current'),
    onCurrent: token('on-current'),
    hit: token('hit'),
    onHit: token('on-hit'),
    watch: token('watch'),
    category: {
      weight: token('cat-weight'),
      gradient: token('cat-gradient'),
      activation: token('cat-activation'),
      optimizer: token('cat-optimizer'),
      other: token('cat-other'),
    },
    health: healthColours(token('box'), token('positive'), token('hit')),
    fontMono: token('font-mono'),
  };
}

export function farColours(palette: Palette): FarColours {
  return {
    canvas: palette.canvas,
    scopes: palette.scopeInner,
    border: palette.scopeBorder,
    closed: palette.boxBorder,
    edge: palette.edge,
    category: palette.category,
  };
}
