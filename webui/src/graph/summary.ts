// A description of the drawing for screen readers.

import * as counts from '../words/counts';
import * as words from '../words/graph';
import type { Marks } from './marks';
import { canOpen, leafBoxes, type Scene } from './scene';

export function summarise(scene: Scene, marks: Marks): string {
  if (scene.boxes.length === 0) return words.nothingRecorded;
  const leaves = leafBoxes(scene);
  const closed = leaves.filter((box) => canOpen(box.node)).length;
  const open = scene.boxes.length - leaves.length;
  const watched = leaves.filter((box) => box.node.watched !== 'none').length;
  const hit = leaves.filter(
    (box) => box.node.hit_count > 0 || (marks.hits.get(box.name) ?? 0) > 0,
  ).length;
  const parts = [
    words.shownNodes(counts.nodes(leaves.length - closed), counts.openScopes(open), counts.closedScopes(closed)),
  ];
  if (marks.current !== null) parts.push(words.currentIs(marks.current));
  if (hit > 0) parts.push(words.withHits(counts.boxes(hit)));
  if (watched > 0) parts.push(words.areWatched(counts.boxes(watched)));
  if (marks.selected !== null) parts.push(words.selectedIs(marks.selected));
  return `${parts.join('; ')}.`;
}
