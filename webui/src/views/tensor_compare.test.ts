import { describe, expect, it } from 'vitest';
import { parseAgainst } from './compare_side';
import { formatAgainst, otherQuery } from './tensor_compare';

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
    for (const text of ['previous', 'step:3', 'rank:0', 'tensor:forward/a:b/relu:1']) {
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
});
