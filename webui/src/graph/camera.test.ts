import { expect, it } from 'vitest';
import { bringIntoView, fit, MAX_SCALE, panBy, reveal, toWorld, visibleRect, zoomAt } from './camera';

const VIEW = { width: 800, height: 400 };

it('shows all of a drawing, centred', () => {
  const camera = fit({ x: 0, y: 0, width: 1600, height: 400 }, VIEW);
  const seen = visibleRect(camera, VIEW);
  expect(seen.x).toBeLessThan(0);
  expect(seen.x + seen.width).toBeGreaterThan(1600);
  expect(seen.y + seen.height / 2).toBeCloseTo(200);
});

it('zooms about the pointer, within limits', () => {
  const camera = { x: 10, y: 20, scale: 1 };
  const before = toWorld(camera, 300, 100);
  const zoomed = zoomAt(camera, 300, 100, 2);
  expect(toWorld(zoomed, 300, 100)).toEqual(before);
  expect(zoomAt(camera, 0, 0, 1000).scale).toBe(MAX_SCALE);
});

it('moves the drawing with the pointer', () => {
  expect(panBy({ x: 0, y: 0, scale: 2 }, 10, -20)).toEqual({ x: -5, y: 10, scale: 2 });
});

it('leaves the camera alone when a box is in view and legible', () => {
  const camera = { x: 0, y: 0, scale: 1 };
  expect(reveal(camera, { x: 100, y: 100, width: 80, height: 30 }, VIEW)).toBe(camera);
});

it('goes to a box out of view', () => {
  const next = reveal({ x: 0, y: 0, scale: 1 }, { x: 5000, y: 100, width: 80, height: 30 }, VIEW);
  const seen = visibleRect(next, VIEW);
  expect(seen.x + seen.width / 2).toBeCloseTo(5040);
});

it('moves no more than brings a box into view', () => {
  const camera = { x: 0, y: 0, scale: 1 };
  expect(bringIntoView(camera, { x: 100, y: 100, width: 80, height: 30 }, VIEW)).toEqual(camera);
  const right = visibleRect(bringIntoView(camera, { x: 760, y: 100, width: 80, height: 30 }, VIEW), VIEW);
  expect(right.x).toBeGreaterThan(0);
  expect(right.x).toBeLessThan(100);
  expect(right.y).toBe(0);
  const above = bringIntoView(camera, { x: 100, y: -100, width: 80, height: 30 }, VIEW);
  expect(above.y).toBeLessThan(-100);
  // A rectangle that is too large is shown from its start.
  const large = bringIntoView({ x: 500, y: 0, scale: 1 }, { x: 100, y: 100, width: 2000, height: 30 }, VIEW);
  expect(large.x).toBeLessThan(100);
  expect(large.x).toBeGreaterThan(50);
});

it('comes nearer to a box too small to be read', () => {
  const next = reveal({ x: 0, y: 0, scale: 0.1 }, { x: 1000, y: 1000, width: 80, height: 30 }, VIEW);
  expect(next.scale).toBeGreaterThanOrEqual(0.55);
});
