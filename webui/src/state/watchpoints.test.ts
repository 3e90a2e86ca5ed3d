import { describe, expect, it } from 'vitest';
import { sampleCondition, sampleWatchpoint } from '../testing/samples';
import { targetText } from './condition_text';
import { specOf } from './watchpoints';

describe('words', () => {
  it('name the target', () => {
    expect(targetText(sampleWatchpoint())).toBe('everything');
    expect(targetText(sampleWatchpoint({ scopes: ['backward'], nodes: ['forward/log'] }))).toBe(
      'forward/log, backward/',
    );
    expect(targetText(sampleWatchpoint({ categories: ['gradient'] }))).toBe('all gradients');
  });
});

it('builds what the server takes', () => {
  const condition = sampleCondition({ id: 'max_gt' });
  const spec = specOf(condition, { value: 2 }, { kind: 'scope', name: 'backward' }, 'step');
  expect(spec).toEqual({
    condition: { id: 'max_gt', params: { value: 2 } },
    nodes: [],
    scopes: ['backward'],
    patterns: [],
    categories: [],
    pause: 'step',
    enabled: true,
  });
});
