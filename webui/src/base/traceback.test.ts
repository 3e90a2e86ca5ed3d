import { describe, expect, it } from 'vitest';
import { exceptionLine } from './exception';
import { partsOfTraceback } from './traceback';

const SHAPES = `Traceback (most recent call last):
  File "/home/me/train.py", line 15, in train
    model(torch.ones(4, width) * 3).sum().backward()
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x7 and 8x8)
`;

const WORKER = `Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/home/me/load.py", line 5, in __getitem__
    if i == 37: raise ValueError(f"sample {i} is broken")
ValueError: sample 37 is broken
`;

describe('a traceback', () => {
  it('has frames with their code, and the message', () => {
    expect(partsOfTraceback(SHAPES)).toEqual([
      {
        kind: 'frame',
        frame: { file: '/home/me/train.py', line: 15, function: 'train', code: 'model(torch.ones(4, width) * 3).sum().backward()', library: false },
      },
      {
        kind: 'frame',
        frame: {
          file: '/opt/lib/python3.11/site-packages/torch/nn/modules/linear.py',
          line: 134,
          function: 'forward',
          code: 'return F.linear(input, self.weight, self.bias)',
          library: true,
        },
      },
      { kind: 'text', text: 'RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x7 and 8x8)' },
    ]);
  });

  it('keeps how exceptions are chained', () => {
    const parts = partsOfTraceback('  File "a.py", line 1, in f\nKeyError: 1\n\nDuring handling of the above exception:\n\n  File "b.py", line 2');
    expect(parts.map((part) => (part.kind === 'frame' ? part.frame.file : part.text))).toEqual([
      'a.py',
      'KeyError: 1',
      'During handling of the above exception:',
      'b.py',
    ]);
  });
});

describe('an exception in one line', () => {
  it('says what went wrong first', () => {
    expect(exceptionLine({ type: 'RuntimeError', message: 'shapes differ\nmore' })).toBe('shapes differ (RuntimeError)');
    expect(exceptionLine({ type: 'KeyboardInterrupt', message: '' })).toBe('KeyboardInterrupt');
  });

  it('is that of the worker of a data loader', () => {
    expect(exceptionLine({ type: 'ValueError', message: WORKER })).toBe('sample 37 is broken (ValueError in DataLoader worker process 0)');
  });
});
