// A description of the drawing for screen readers.

import { plural } from '../base/format';
import type { Marks } from './marks';
import { canOpen, leafBoxes, type Scene } from './scene';

export function summarise(scene: Scene, marks: Marks): string {
  if (scene.boxes.length === 0) return 'Graph: nothing recorded yet.';
  const leaves = leafBoxes(scene);
  const closed = leaves.filter((box) => canOpen(box.node)).length;
  const open = scene.boxes.length - leaves.length;
  const watched = leaves.filter((box) => box.node.watched !== 'none').length;
  const hit = leaves.filter(
    (box) => box.node.hit_count > 0 || (marks.hits.get(box.name) ?? 0) > 0,
  ).length;
  const parts = [
    `Graph: ${plural(leaves.length - closed, 'node')}, ${plural(open, 'open scope')} and ${plural(closed, 'closed scope')} shown`,
  ];
  if (marks.current !== null) parts.push(`current node: ${marks.current}`);
  if (hit > 0) parts.push(`${plural(hit, 'box', 'boxes')} with hits`);
  if (watched > 0) parts.push(`${plural(watched, 'box', 'boxes')} watched`);
  if (marks.selected !== null) parts.push(`selected: ${marks.selected}`);
  return `${parts.join('; ')}.`;
}
