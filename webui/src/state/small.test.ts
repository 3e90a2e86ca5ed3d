import { expect, it } from 'vitest';
import { sampleHit, sampleJob } from '../testing/samples';
import { shouldFollow } from './follow';
import { indexHits } from './hit_index';
import { reduceJobs } from './jobs_store';
import { openScopes } from './scopes';
import { limitSize } from './ui';

it('counts hits for the node and every scope around it', () => {
  const { counts: index } = indexHits([
    sampleHit({ node: 'forward/fc1/addmm' }),
    sampleHit({ id: 2, node: 'forward/log' }),
  ]);
  expect(index.get('forward')).toBe(2);
  expect(index.get('forward/fc1')).toBe(1);
  expect(index.get('backward')).toBeUndefined();
});

it('counts only what is new where hits were added at the end', () => {
  const first = [sampleHit({ id: 1, node: 'a/x' }), sampleHit({ id: 2, node: 'a/y' })];
  const known = indexHits(first);
  const more = [...first, sampleHit({ id: 3, node: 'a/x' })];
  expect([...indexHits(more, null, known).counts]).toEqual([...indexHits(more).counts]);
  // Inserted hits and other hits are counted from scratch.
  const between = [first[0], sampleHit({ id: 4, node: 'b' }), first[1]].filter((hit) => hit !== undefined);
  expect([...indexHits(between, null, known).counts]).toEqual([...indexHits(between).counts]);
  expect(indexHits([], null, known).counts.size).toBe(0);
  expect(indexHits(first, null, known)).toBe(known);
});

it('follows a stop unless the user has just looked elsewhere', () => {
  expect(shouldFollow(10_000, -Infinity, -Infinity)).toBe(true);
  expect(shouldFollow(10_000, 9_000, 5_000)).toBe(false);
  expect(shouldFollow(10_000, 9_000, 9_500)).toBe(true);
  expect(shouldFollow(20_000, 9_000, 5_000)).toBe(true);
});

it('keeps the list of jobs by id', () => {
  const jobs = [sampleJob(), sampleJob({ id: 'k' })];
  const event = { seq: 1, type: 'state', job: 'k', info: sampleJob({ id: 'k', step: 4 }) } as const;
  expect(reduceJobs(jobs, event).map((job) => job.step)).toEqual([0, 4]);
  expect(reduceJobs(jobs, { ...event, job: 'j', info: null }).map((job) => job.id)).toEqual(['k']);
  expect(reduceJobs([], { ...event, type: 'job' })).toHaveLength(1);
});

it('opens what the address says, else its own choice and the way to the selection', () => {
  expect([...openScopes(['a'], ['b'], 'c/d/e')]).toEqual(['a']);
  expect([...openScopes(null, ['b'], 'c/d/e')]).toEqual(['b', 'c', 'c/d']);
});

it('keeps panels within sizes that can be used', () => {
  expect(limitSize('left', 5)).toBe(180);
  expect(limitSize('left', 300.4)).toBe(300);
  expect(limitSize('left', 9999)).toBe(560);
});
