// Sizes of closed boxes. Names use a monospace font, so widths follow from the number of characters
// and no text is measured.

import type { EdgeNote, GraphNode } from '../api/types';
import { formatShape, shortDtype } from '../base/format';
import { visible } from '../base/visible';
import { hasShortAttributes } from '../base/attributes';
import { nodeCount } from '../words/graph';

export const LABEL_PX = 12;
export const DETAIL_PX = 11.5;
const LABEL_ADVANCE = 7.2;
const DETAIL_ADVANCE = 6.9;
export const MAX_LABEL = 36;
const SIDE = 12;
export const CHEVRON_ROOM = 16;
const MIN_WIDTH = 64;
// Notes are listed below their box, on a stem.
export const NOTE_PX = 11.5;
export const NOTE_LINE = 16;
export const NOTE_STEM = 7;

// An op of a model: its title, its output, its attributes, and a row for each weight.
export const OP_LINE = 15;
export const WEIGHT_ROW = 18;
export const WEIGHT_MARGIN = 8;
// Room for attributes, by type of op: they arrive after the first layout.
const ATTRIBUTE_CHARACTERS = 24;

export function shorten(name: string, limit: number): string {
  // Cut before the characters are replaced, so that long names cost no more than short ones.
  const text = visible(name.length > 2 * limit ? name.slice(0, 2 * limit) : name);
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

function shared(node: GraphNode): string {
  if (node.op_type !== '') return ` · ${shorten(node.op_type, 22)}`;
  return node.descendant_count === node.child_count ? '' : ` · ${nodeCount(node.descendant_count)}`;
}

// The second line of a box: the output of an op, or the class and size of a scope.
export function detailOf(node: GraphNode): string {
  if (node.detail !== undefined) return node.detail;
  if (node.kind === 'aggregate') return `×${node.child_count}${shared(node)}`;
  if (node.kind === 'scope') {
    const count = nodeCount(node.descendant_count);
    return node.op_type === '' ? count : `${shorten(node.op_type, 22)} · ${count}`;
  }
  const output = node.outputs[0];
  if (output === undefined) return '';
  const more = node.outputs.length > 1 ? ` +${node.outputs.length - 1}` : '';
  return `${formatShape(output.shape)} ${shortDtype(output.dtype)}${more}`;
}

export const titleOf = (node: GraphNode) => node.title ?? node.label;

export const hasAttributeLine = (node: GraphNode) => node.kind === 'op' && node.title !== undefined && hasShortAttributes(node.op_type);

export function noteText({ text, alarm }: EdgeNote): string {
  return alarm ? `▲ ${text}` : text;
}

export function noteWidth(note: EdgeNote): number {
  return Math.ceil(noteText(note).length * DETAIL_ADVANCE) + 10;
}

// Height below a box that is reserved for its notes.
export function noteRoom({ notes }: GraphNode): number {
  return notes === undefined ? 0 : NOTE_STEM + notes.length * NOTE_LINE;
}

// The size of a closed box without its notes.
export function sizeOfNode(node: GraphNode): { width: number; height: number } {
  const detail = detailOf(node);
  const label = shorten(titleOf(node), MAX_LABEL).length * LABEL_ADVANCE;
  const attributes = hasAttributeLine(node);
  const text = Math.max(label, Math.min(detail.length, 34) * DETAIL_ADVANCE, attributes ? ATTRIBUTE_CHARACTERS * DETAIL_ADVANCE : 0);
  const chevron = node.child_count > 0 ? CHEVRON_ROOM : 0;
  return {
    width: Math.max(MIN_WIDTH, Math.ceil(text + 2 * SIDE + chevron), ...(node.notes ?? []).map(noteWidth)),
    height: (detail === '' ? 24 : 38) + (attributes ? OP_LINE : 0),
  };
}

// The text after the label of a node that is placed beside its consumer: its shape.
export function besideDetail(node: GraphNode): string {
  const shape = node.outputs[0]?.shape;
  return shape === undefined ? '' : formatShape(shape);
}

export function sizeBeside(node: GraphNode): { width: number; height: number } {
  const label = shorten(node.inside === undefined ? node.label : titleOf(node), 18).length * 6.9;
  const detail = shorten(besideDetail(node), 18).length * DETAIL_ADVANCE;
  return { width: Math.ceil(label + (detail === 0 ? 0 : detail + 8) + 20), height: 21 };
}
