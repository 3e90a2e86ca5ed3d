import { describe, expect, it } from 'vitest';
import { formatAgainst, otherQuery, parseAgainst } from './compare_side';

const QUERY = {
  job: 'j',
  name: 'forward/log:0',
  rank: 1,
  step: null,
  transposed: false, slice: '[:]',
  version: '3',
  enabled: true,
};

describe('what a tensor is compared with', () => {
  it('is said as the server takes it, and read again', () => {
    for (const text of [
      'previous',
      'step:3',
      'rank:0',
      'rank:1@3',
      'tensor:forward/a:b/relu:1',
      'tensor:forward/a@b:1@previous',
      'rank:1,tensor:forward/a,b:0@7',
      'run:abc:0,tensor:forward/a:0@3',
    ]) {
      expect(formatAgainst(parseAgainst(text))).toBe(text);
    }
    for (const text of [null, '', 'nonsense', 'step:']) {
      expect(parseAgainst(text)).toEqual({ kind: 'previous', value: '' });
    }
  });

  it('differs from it in one thing alone', () => {
    expect(otherQuery(QUERY, parseAgainst(null))).toEqual({ ...QUERY, step: 'previous' });
    expect(otherQuery(QUERY, parseAgainst('step:7'))).toEqual({ ...QUERY, step: '7' });
    expect(otherQuery(QUERY, parseAgainst('rank:0'))).toEqual({ ...QUERY, rank: 0 });
    expect(otherQuery(QUERY, parseAgainst('tensor:x:1'))).toEqual({ ...QUERY, name: 'x:1' });
  });

  it('may differ in several things', () => {
    expect(otherQuery(QUERY, parseAgainst('rank:0@5'))).toEqual({ ...QUERY, rank: 0, step: '5' });
    expect(otherQuery(QUERY, parseAgainst('rank:0,tensor:x:1@5'))).toEqual({ ...QUERY, rank: 0, name: 'x:1', step: '5' });
    expect(otherQuery(QUERY, parseAgainst('run:r:2,tensor:x:1@5'))).toEqual({ ...QUERY, job: 'runs/r', rank: 2, name: 'x:1', step: '5' });
  });
});
