// Labels of open scopes at scales at which their headers are too small for text. Labels have the
// normal text size of the screen, so those of nested scopes would overprint. A scope whose label
// would cover that of the scope around it is appended to it, and left out if there is no room.

import type { Camera, Rect } from './camera';
import type { Box } from './scene';
import { shorten } from './sizes';

export const LABEL_ADVANCE_PX = 6.9;
export const LABEL_HEIGHT_PX = 18;
const INSET_PX = 3;
const PADDING_PX = 8;
// Scopes whose corners are further apart are not named together.
const SAME_CORNER_PX = 24;
const SEPARATOR = ' › ';
// Smaller scopes get no label.
const MIN_WIDTH_PX = 90;
const MIN_HEIGHT_PX = 26;

export interface ScopeLabel extends Rect {
  text: string;
  // The innermost scope that it names.
  box: Box;
}

const widthOf = (text: string) => text.length * LABEL_ADVANCE_PX + PADDING_PX;

const overlap = (a: Rect, b: Rect) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

// Whether a scope, and with it those inside, may be large enough for a label.
export const hasLabel = (box: Box, { scale }: Camera) =>
  box.open && box.width * scale >= MIN_WIDTH_PX && box.height * scale >= MIN_HEIGHT_PX;

// Places the labels of scopes, each of which comes after the scope around it. Positions and sizes are
// in pixels, relative to the drawing's origin.
export function placeScopeLabels(scopes: readonly Box[], { scale }: Camera): ScopeLabel[] {
  const placed: ScopeLabel[] = [];
  for (const box of scopes) {
    const room = Math.floor((box.width * scale - 2 * INSET_PX - PADDING_PX) / LABEL_ADVANCE_PX);
    const text = shorten(box.node.label, Math.max(1, room));
    const label = { box, text, x: box.x * scale + INSET_PX, y: box.y * scale + INSET_PX, width: widthOf(text), height: LABEL_HEIGHT_PX };
    const covered = placed.filter((other) => overlap(label, other));
    if (covered.length === 0) {
      placed.push(label);
      continue;
    }
    const around = covered.find((other) => other.box.name === box.parent);
    if (covered.length > 1 || around === undefined || label.x > around.x + SAME_CORNER_PX) continue;
    const joined = around.text + SEPARATOR + box.node.label;
    const end = (box.x + box.width) * scale - INSET_PX;
    const wider = { ...around, text: joined, width: widthOf(joined), box };
    if (around.x + wider.width > end || placed.some((other) => other !== around && overlap(wider, other))) continue;
    placed[placed.indexOf(around)] = wider;
  }
  return placed;
}
