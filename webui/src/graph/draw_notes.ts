// Draws the notes on a box's outputs at the start of their edges.

import type { Camera } from './camera';
import type { Palette } from './palette';
import type { Box } from './scene';
import { NOTE_LINE, NOTE_PX, NOTE_STEM, noteText, noteWidth } from './sizes';

// Below this scale the text is too small to be read; the colour of an alarm is still visible.
const TEXT_SCALE = 0.42;

export function drawNotes(context: CanvasRenderingContext2D, box: Box, palette: Palette, camera: Camera): void {
  const notes = box.node.notes ?? [];
  if (notes.length === 0) return;
  const middle = box.x + box.width / 2;
  const top = box.y + box.height;
  context.strokeStyle = palette.edge;
  context.lineWidth = Math.max(1, 0.75 / camera.scale);
  context.beginPath();
  context.moveTo(middle, top);
  context.lineTo(middle, top + NOTE_STEM);
  context.stroke();
  context.font = `500 ${NOTE_PX}px ${palette.fontMono}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  notes.forEach((note, line) => {
    const y = top + NOTE_STEM + line * NOTE_LINE;
    const width = noteWidth(note);
    context.beginPath();
    context.roundRect(middle - width / 2, y + 0.5, width, NOTE_LINE - 1.5, 4);
    context.fillStyle = palette.canvas;
    context.fill();
    context.strokeStyle = note.alarm ? palette.hit : palette.edge;
    context.stroke();
    if (camera.scale < TEXT_SCALE) return;
    context.fillStyle = note.alarm ? palette.hit : palette.muted;
    context.fillText(noteText(note), middle, y + NOTE_LINE / 2 + 0.5);
  });
  context.textAlign = 'start';
}
