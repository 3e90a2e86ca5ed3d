// Draws boxes and their marks. Marks differ in shape as well as in colour.

import { compactCount } from '../base/format';
import { differenceBadges } from '../words/graph';
import type { BoxHealth } from '../base/health';
import type { Camera } from './camera';
import { drawNonFiniteBadge, drawStripes, fillOf } from './draw_health';
import { isBad } from './health_colours';
import { SCOPE_HEADER } from './layout_types';
import type { Marks, NodeDifference } from './marks';
import type { Palette } from './palette';
import type { Box } from './scene';
import type { ScopeLabel } from './scope_labels';
import { phaseOf } from './phase';
import { canOpen } from './scene';
import {
  besideDetail,
  CHEVRON_ROOM,
  DETAIL_PX,
  detailOf,
  LABEL_PX,
  hasAttributeLine,
  MAX_LABEL,
  OP_LINE,
  shorten,
  titleOf,
} from './sizes';

type Context = CanvasRenderingContext2D;

// Below these scales the text is too small to be read.
const LABEL_SCALE = 0.34;
const DETAIL_SCALE = 0.62;
// Below this scale, labels of open scopes do not fit into their headers.
export const FAR_LABEL_SCALE = 0.4;
// Below this a box is a coloured block.
export const BLOCK_SCALE = 0.2;

function radiusOf(box: Box): number {
  if (box.open) return 8;
  switch (box.node.kind) {
    case 'parameter':
    case 'buffer':
    case 'constant':
    case 'input':
      return box.height / 2;
    case 'scope':
      return 6;
    default:
      return 4;
  }
}

function outline(context: Context, box: Box, grow = 0): void {
  context.beginPath();
  context.roundRect(
    box.x - grow,
    box.y - grow,
    box.width + 2 * grow,
    box.height + 2 * grow,
    radiusOf(box) + grow,
  );
}

export function drawScope(context: Context, box: Box, palette: Palette, camera: Camera): void {
  const tints = palette.scopeInner;
  context.fillStyle = tints[box.depth % tints.length] ?? palette.scope;
  outline(context, box);
  context.fill();
  context.strokeStyle = palette.scopeBorder;
  context.lineWidth = Math.max(1, 0.75 / camera.scale);
  context.stroke();
  if (camera.scale < FAR_LABEL_SCALE) return;
  const phase = box.depth === 0 ? phaseOf(box.name) : null;
  if (phase !== null) drawStripe(context, box, palette.category[phase], 4);
  drawChevron(context, box.x + 12, box.y + SCOPE_HEADER / 2, true, palette.muted);
  // At small scales the name keeps a legible size as long as it fits into the box.
  const size = Math.min(LABEL_PX / Math.min(1, camera.scale / 0.85), 22);
  const room = box.width - 30;
  const advance = size * 0.6;
  const label = shorten(box.node.label, Math.max(1, Math.floor(room / advance)));
  context.textBaseline = 'middle';
  context.fillStyle = palette.text;
  context.font = `600 ${size}px ${palette.fontMono}`;
  context.fillText(label, box.x + 22, box.y + SCOPE_HEADER / 2 + 1);
  if (camera.scale < DETAIL_SCALE) return;
  const used = 22 + label.length * advance + 10;
  const left = Math.floor((box.width - used - 30) / 6.9);
  if (left < 4 || box.node.op_type === '') return;
  context.fillStyle = palette.muted;
  context.font = `400 ${DETAIL_PX}px ${palette.fontMono}`;
  context.fillText(shorten(box.node.op_type, left), box.x + used, box.y + SCOPE_HEADER / 2 + 1);
}

// Draws a coloured stripe on the left, inside the outline: the part of it up to `width`. As a path
// of its own, because clipping takes several times as long.
function drawStripe(context: Context, box: Box, colour: string, width: number): void {
  const radius = Math.max(radiusOf(box), width);
  const centre = box.x + radius;
  // The angle at which the corner's arc meets the right edge of the stripe.
  const edge = Math.acos((width - radius) / radius);
  context.fillStyle = colour;
  context.beginPath();
  context.arc(centre, box.y + radius, radius, 2 * Math.PI - edge, Math.PI, true);
  context.arc(centre, box.y + box.height - radius, radius, Math.PI, edge, true);
  context.closePath();
  context.fill();
}

function drawChevron(context: Context, x: number, y: number, open: boolean, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.lineCap = 'round';
  context.lineJoin = 'round';
  context.beginPath();
  if (open) {
    context.moveTo(x - 3.5, y - 2);
    context.lineTo(x, y + 2);
    context.lineTo(x + 3.5, y - 2);
  } else {
    context.moveTo(x - 2, y - 3.5);
    context.lineTo(x + 2, y);
    context.lineTo(x - 2, y + 3.5);
  }
  context.stroke();
  context.lineCap = 'butt';
  context.lineJoin = 'miter';
}

function drawShape(context: Context, box: Box, palette: Palette, camera: Camera, health: BoxHealth | null): void {
  const hair = Math.max(1, 0.75 / camera.scale);
  const tint = palette.category[box.node.category] ?? palette.category.other;
  if (canOpen(box.node) && camera.scale > 0.3) {
    // A second sheet behind the box shows that it can be opened.
    context.fillStyle = palette.box;
    context.strokeStyle = palette.boxBorder;
    context.lineWidth = hair;
    context.beginPath();
    context.roundRect(box.x + 4, box.y + 4, box.width, box.height, 6);
    context.fill();
    context.stroke();
  }
  context.fillStyle = fillOf(health, palette.health, true) ?? palette.box;
  outline(context, box);
  context.fill();
  if (health !== null && isBad(health)) {
    drawStripes(context, box, palette);
    outline(context, box);
  }
  if (box.node.kind === 'op' || box.node.kind === 'aggregate' || phaseOf(box.name) !== null) {
    drawStripe(context, box, canOpen(box.node) ? stripeOf(box, palette) : tint, 3.5);
    outline(context, box);
  }
  const plain = box.node.kind === 'op' || canOpen(box.node);
  context.strokeStyle = plain ? palette.boxBorder : tint;
  context.lineWidth = hair;
  context.setLineDash(box.node.kind === 'buffer' || box.node.kind === 'constant' ? [3, 2] : []);
  context.stroke();
  context.setLineDash([]);
}

// The colour of a closed scope shows its phase: forward, backward or optimizer.
function stripeOf(box: Box, palette: Palette): string {
  const phase = phaseOf(box.name);
  return phase === null ? palette.category[box.node.category] : palette.category[phase];
}

export function drawBlock(context: Context, box: Box, palette: Palette, health: BoxHealth | null): void {
  const fill = fillOf(health, palette.health, false);
  if (fill !== null) {
    context.fillStyle = fill;
    context.fillRect(box.x, box.y, box.width, box.height);
    return;
  }
  const scope = canOpen(box.node);
  context.fillStyle = scope ? palette.boxBorder : palette.category[box.node.category];
  context.globalAlpha = scope ? 1 : 0.75;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.globalAlpha = 1;
}

// The label, which uses the space of the second line where that is too small to be drawn.
function roomyLabel(box: Box, characters: number, camera: Camera): number {
  const room = box.width - 12 - (canOpen(box.node) ? CHEVRON_ROOM : 0);
  const wanted = Math.min(9.5 / camera.scale, box.height * 0.55, room / (characters * 0.6));
  return Math.max(LABEL_PX, wanted);
}

export function drawLeaf(context: Context, box: Box, palette: Palette, camera: Camera, health: BoxHealth | null): void {
  if (camera.scale < BLOCK_SCALE) {
    if (!box.inside) drawBlock(context, box, palette, health);
    return;
  }
  if (box.inside) {
    if (camera.scale >= DETAIL_SCALE) drawWeight(context, box, palette);
    return;
  }
  drawShape(context, box, palette, camera, health);
  const large = box.node.title !== undefined && box.node.kind === 'op';
  // Boxes of a model's ops have room for larger titles.
  if (camera.scale < (large ? BLOCK_SCALE : LABEL_SCALE)) return;
  if (health !== null && isBad(health)) drawNonFiniteBadge(context, box, health, palette, camera.scale);
  if (box.beside) {
    drawOneLine(context, box, palette, camera);
    return;
  }
  if (large) {
    drawModelOp(context, box, palette, camera);
    return;
  }
  const scope = canOpen(box.node);
  const middle = box.x + box.width / 2 + (scope ? CHEVRON_ROOM / 2 : 1.5);
  const detail = camera.scale >= DETAIL_SCALE ? detailOf(box.node) : '';
  const twoLines = detail !== '' && box.height > 30;
  const y = box.y + box.height / 2;
  if (scope) drawChevron(context, box.x + 13, y, false, palette.muted);
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillStyle = palette.text;
  const label = shorten(titleOf(box.node), MAX_LABEL);
  const size = twoLines ? LABEL_PX : roomyLabel(box, label.length, camera);
  context.font = `${scope ? 600 : 500} ${size}px ${palette.fontMono}`;
  context.fillText(label, middle, twoLines ? y - 6.5 : y + 0.5);
  if (twoLines) {
    context.fillStyle = palette.muted;
    context.font = `400 ${DETAIL_PX}px ${palette.fontMono}`;
    context.fillText(shorten(detail, 34), middle, y + 8.5);
  }
  context.textAlign = 'start';
}

// An op of a model: its type, its output and its attributes. Its weights follow as boxes of their own.
function drawModelOp(context: Context, box: Box, palette: Palette, camera: Camera): void {
  const title = shorten(titleOf(box.node), MAX_LABEL);
  const middle = box.x + box.width / 2 + 1.5;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillStyle = palette.text;
  if (camera.scale < DETAIL_SCALE) {
    context.font = `600 ${roomyLabel(box, title.length, camera)}px ${palette.fontMono}`;
    context.fillText(title, middle, box.y + box.height / 2 + 0.5);
  } else {
    context.font = `600 ${LABEL_PX}px ${palette.fontMono}`;
    context.fillText(title, middle, box.y + 12.5);
    context.fillStyle = palette.muted;
    context.font = `400 ${DETAIL_PX}px ${palette.fontMono}`;
    const lines = [shorten(detailOf(box.node), 34), ...(hasAttributeLine(box.node) ? [box.node.attributes ?? ''] : [])];
    lines.forEach((line, i) => context.fillText(shorten(line, Math.floor((box.width - 14) / 6.9)), middle, box.y + 27.5 + i * OP_LINE));
  }
  context.textAlign = 'start';
}

// A weight in the box of its op: its name on the left, its shape on the right.
function drawWeight(context: Context, box: Box, palette: Palette): void {
  const y = box.y + box.height / 2 + 0.5;
  context.strokeStyle = palette.scopeBorder;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(box.x, box.y + 0.5);
  context.lineTo(box.x + box.width, box.y + 0.5);
  context.stroke();
  context.textBaseline = 'middle';
  context.font = `400 ${DETAIL_PX}px ${palette.fontMono}`;
  context.fillStyle = palette.category.weight;
  context.fillText(shorten(titleOf(box.node), 18), box.x + 4, y);
  context.textAlign = 'end';
  context.fillStyle = palette.muted;
  context.fillText(shorten(besideDetail(box.node), 18), box.x + box.width - 4, y);
  context.textAlign = 'start';
}

function drawOneLine(context: Context, box: Box, palette: Palette, camera: Camera): void {
  const y = box.y + box.height / 2 + 0.5;
  const label = shorten(box.node.label, 18);
  context.textBaseline = 'middle';
  context.fillStyle = palette.text;
  context.font = `500 ${DETAIL_PX}px ${palette.fontMono}`;
  context.fillText(label, box.x + 10, y);
  if (camera.scale < DETAIL_SCALE) return;
  context.fillStyle = palette.muted;
  context.font = `400 ${DETAIL_PX}px ${palette.fontMono}`;
  context.fillText(shorten(besideDetail(box.node), 18), box.x + 18 + label.length * 6.9, y);
}

// Draws the name of a scope at the normal text size of the screen.
export function drawFarLabel(context: Context, label: ScopeLabel, palette: Palette, camera: Camera): void {
  const k = 1 / camera.scale;
  context.font = `600 ${DETAIL_PX * k}px ${palette.fontMono}`;
  context.fillStyle = palette.canvas;
  context.globalAlpha = 0.86;
  context.fillRect(label.x * k, label.y * k, label.width * k, (label.height - 1) * k);
  context.globalAlpha = 1;
  context.fillStyle = palette.text;
  context.textBaseline = 'middle';
  context.fillText(label.text, (label.x + 4) * k, (label.y + label.height / 2) * k);
}

// Draws a hit as a triangle of constant size on the screen, filled at an origin.
export function drawFarMark(context: Context, box: Box, origin: boolean, palette: Palette, camera: Camera): void {
  const r = (origin ? 6 : 3.5) / camera.scale;
  const x = box.x + box.width / 2;
  const y = box.y + box.height / 2;
  context.beginPath();
  context.moveTo(x, y - r);
  context.lineTo(x + r, y + r * 0.8);
  context.lineTo(x - r, y + r * 0.8);
  context.closePath();
  context.fillStyle = palette.hit;
  context.fill();
  context.strokeStyle = palette.canvas;
  context.lineWidth = 1 / camera.scale;
  context.stroke();
}

// Enlarges marks at small scales so that they keep their size on the screen.
function markScale(camera: Camera): number {
  return Math.min(3, Math.max(1, 0.75 / camera.scale));
}

function drawRing(
  context: Context,
  box: Box,
  colour: string,
  width: number,
  grow: number,
  camera: Camera,
): void {
  context.strokeStyle = colour;
  context.lineWidth = Math.max(width, width / camera.scale);
  outline(context, box, Math.max(grow, grow / camera.scale));
  context.stroke();
}

// Draws the frame of a badge at the upper right corner of a box. Returns its left and top edge and
// its middle.
function drawBadgeFrame(context: Context, box: Box, width: number, fill: string, stroke: string, k: number): [number, number, number] {
  const height = 16 * k;
  const x = box.x + box.width - width + 7 * k;
  // Outside the corner, so that the name in the box is not covered.
  const y = box.y - height + 4;
  context.fillStyle = fill;
  context.strokeStyle = stroke;
  context.lineWidth = 1.3 * k;
  context.beginPath();
  context.roundRect(x, y, width, height, 4 * k);
  context.fill();
  context.stroke();
  return [x, y, y + height / 2 + 0.5 * k];
}

// Draws the hit count: filled for a hit or an origin of NaN or infinity, hollow for propagated
// values.
function drawHitBadge(
  context: Context,
  box: Box,
  hits: number,
  hollow: boolean,
  palette: Palette,
  k: number,
): void {
  const text = compactCount(hits);
  const width = (14 + text.length * 7 + 4) * k;
  const [x, y, middle] = drawBadgeFrame(context, box, width, hollow ? palette.canvas : palette.hit, palette.hit, k);
  context.fillStyle = hollow ? palette.hit : palette.onHit;
  context.beginPath();
  context.moveTo(x + 8 * k, y + 3 * k);
  context.lineTo(x + 12.5 * k, y + 11.5 * k);
  context.lineTo(x + 3.5 * k, y + 11.5 * k);
  context.closePath();
  context.fill();
  context.font = `600 ${DETAIL_PX * k}px ${palette.fontMono}`;
  context.textBaseline = 'middle';
  context.fillText(text, x + 15 * k, middle);
}

// Draws how the node differs from that of another run: a thick ring at the first difference, a
// thin one at later ones, and a dashed one if the other run does not have the node.
function drawDifference(context: Context, box: Box, difference: NodeDifference, palette: Palette, k: number, camera: Camera): void {
  const first = difference === 'first';
  const colour = difference === 'only_here' ? palette.watch : palette.hit;
  if (difference === 'only_here') context.setLineDash([5 * k, 3 * k]);
  drawRing(context, box, colour, first ? 2.6 : 1.3, 0, camera);
  context.setLineDash([]);
  const text = differenceBadges[difference];
  const width = (text.length * 7 + 10) * k;
  const [x, , middle] = drawBadgeFrame(context, box, width, first ? colour : palette.canvas, colour, k);
  context.fillStyle = first ? palette.onHit : colour;
  context.font = `600 ${DETAIL_PX * k}px ${palette.fontMono}`;
  context.textBaseline = 'middle';
  context.fillText(text, x + 5 * k, middle);
}

// Draws the watch mark, fainter where the whole scope is watched and the mark is implied.
function drawWatched(
  context: Context,
  box: Box,
  implied: boolean,
  palette: Palette,
  k: number,
): void {
  const some = box.node.watched === 'some';
  const x = box.x + 1 * k;
  const y = box.y + 1 * k;
  const r = (implied ? 2.6 : 3.8) * k;
  context.globalAlpha = implied ? 0.55 : 1;
  context.fillStyle = palette.canvas;
  context.strokeStyle = palette.watch;
  context.lineWidth = 1.2 * k;
  context.beginPath();
  context.arc(x, y, r, 0, Math.PI * 2);
  context.fill();
  context.stroke();
  context.fillStyle = palette.watch;
  context.beginPath();
  if (some) context.arc(x, y, r * 0.55, Math.PI / 2, -Math.PI / 2);
  else context.arc(x, y, r * 0.55, 0, Math.PI * 2);
  context.fill();
  context.globalAlpha = 1;
}

function drawCurrent(context: Context, box: Box, palette: Palette, k: number, camera: Camera): void {
  drawRing(context, box, palette.current, 2, 1.5, camera);
  const y = box.open ? box.y + SCOPE_HEADER / 2 : box.y + box.height / 2;
  const x = box.x - 4 * k;
  context.fillStyle = palette.current;
  context.strokeStyle = palette.canvas;
  context.lineWidth = 1.5 * k;
  context.beginPath();
  context.moveTo(x - 15 * k, y - 7 * k);
  context.lineTo(x - 7 * k, y - 7 * k);
  context.lineTo(x, y);
  context.lineTo(x - 7 * k, y + 7 * k);
  context.lineTo(x - 15 * k, y + 7 * k);
  context.closePath();
  context.stroke();
  context.fill();
}

export function drawMarks(
  context: Context,
  box: Box,
  marks: Marks,
  current: string | null,
  implied: boolean,
  palette: Palette,
  camera: Camera,
): void {
  const k = markScale(camera);
  const hits = Math.max(box.node.hit_count, marks.hits.get(box.name) ?? 0);
  const trail = marks.trail.get(box.name);
  if (hits > 0 && !box.open) drawRing(context, box, palette.hit, trail === 'origin' ? 2.6 : 1.3, 0, camera);
  if (box.name === current) drawCurrent(context, box, palette, k, camera);
  if (box.name === marks.selected) drawRing(context, box, palette.select, 2, 3, camera);
  else if (box.name === marks.hovered) drawRing(context, box, palette.edgeStrong, 1, 0, camera);
  if (box.node.watched !== 'none' && camera.scale > 0.12) {
    drawWatched(context, box, implied, palette, k);
  }
  const difference = marks.differences?.get(box.name);
  if (difference !== undefined) drawDifference(context, box, difference, palette, k, camera);
  else if (hits > 0) drawHitBadge(context, box, hits, trail === 'propagated', palette, k);
}
