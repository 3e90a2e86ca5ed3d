// What the form that changes the paused job sends. Pure functions.

import type { ChangeRequest } from '../api/types';
import * as words from '../words/change';

export interface ChangeForm {
  kind: words.Kind;
  tensor: string;
  slice: string;
  values: string;
  rate: string;
  // Empty: all.
  optimizer: string;
  group: string;
  // Null: all.
  rank: number | null;
}

export type FormField = 'tensor' | 'values' | 'rate' | 'optimizer' | 'group';

export type ReadForm = { ok: true; request: ChangeRequest } | { ok: false; field: FormField; problem: string };

type Problem = Extract<ReadForm, { ok: false }>;
type SentNumber = number | 'NaN' | 'Infinity' | '-Infinity';

const SPECIAL: Record<string, SentNumber> = {
  nan: 'NaN',
  inf: 'Infinity',
  '+inf': 'Infinity',
  infinity: 'Infinity',
  '-inf': '-Infinity',
  '-infinity': '-Infinity',
};

// Returns null for what is not a number.
function readNumber(text: string): SentNumber | null {
  const word = text.toLowerCase();
  const special = SPECIAL[word];
  if (special !== undefined) return special;
  const number = Number(word);
  return word === '' || !Number.isFinite(number) ? null : number;
}

const wrong = (field: FormField, problem: string): Problem => ({ ok: false, field, problem });

function readValues(text: string): SentNumber[] | Problem {
  const parts = text.split(/[\s,;[\]]+/).filter((part) => part !== '');
  if (parts.length === 0) return wrong('values', words.enterValues);
  const numbers: SentNumber[] = [];
  for (const part of parts) {
    const number = readNumber(part);
    if (number === null) return wrong('values', words.notANumber(part));
    numbers.push(number);
  }
  return numbers;
}

function readIndex(text: string): number | undefined | null {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return /^\d{1,9}$/.test(trimmed) ? Number(trimmed) : null;
}

function readRate(form: ChangeForm): ChangeRequest | Problem {
  const value = readNumber(form.rate.trim());
  if (typeof value !== 'number' || value < 0) return wrong('rate', words.enterRate);
  const optimizer = readIndex(form.optimizer);
  if (optimizer === null) return wrong('optimizer', words.enterNumber(words.optimizer));
  const group = readIndex(form.group);
  if (group === null) return wrong('group', words.enterNumber(words.group));
  return {
    change: 'learning_rate',
    value,
    ...(optimizer === undefined ? {} : { optimizer }),
    ...(group === undefined ? {} : { group }),
  };
}

function readTensorValues({ tensor, slice, values: text }: ChangeForm): ChangeRequest | Problem {
  const name = tensor.trim();
  if (!/^.+:\d+$/.test(name)) return wrong('tensor', words.enterTensor);
  const values = readValues(text);
  if (!Array.isArray(values)) return values;
  return { change: 'values', name, values, ...(slice.trim() === '' ? {} : { slice: slice.trim() }) };
}

function readKind(form: ChangeForm): ChangeRequest | Problem {
  switch (form.kind) {
    case 'values':
      return readTensorValues(form);
    case 'learning_rate':
      return readRate(form);
    case 'skip_step':
    case 'restore_step':
      return { change: form.kind };
  }
}

export function readForm(form: ChangeForm): ReadForm {
  const read = readKind(form);
  if ('ok' in read) return read;
  return { ok: true, request: { ...read, ...(form.rank === null ? {} : { rank: form.rank }) } };
}
